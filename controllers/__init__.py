"""Controllers: networks that generate motion along a desired trajectory or to a song.

::

    from deepphase import controllers
    import deepphase as dp

    controller = controllers.Controller.load("walk.controller")
    path = dp.made_path("circle", speed=1.3, seconds=10.0)
    source = controllers.CharacterSource(controller)
    characters, goals = dp.start_on_path(source, path, characters=100)
    for _ in range(600):  # dp.rollout(characters, goals, 10.0) records the run
        frame = characters.step(goals)  # arrays of all characters: one batch, 60 Hz

Training of a controller on the clips of a store::

    store, model = dp.open_store("mocap.store"), dp.load_extractor("walk.model")
    config = controllers.ControllerConfig.load("experts")
    data = controllers.ControllerData.read(store, config, model)
    controller = controllers.train_controller(data, config, folder="walk.unfinished")
    controller.save("walk.controller")

`ControllerSchema` names the inputs and outputs of a network, `register_network` registers a network
of your own, and `Characters` advances any number of characters with one controller in one batch. A
`Dancer` is a controller that is conditioned on a song.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.lazy_names import lazy_names

if TYPE_CHECKING:
    from deepphase.controllers.config import ControllerConfig as ControllerConfig
    from deepphase.controllers.dance.config import DanceConfig as DanceConfig
    from deepphase.controllers.dance.dancer import Dancer as Dancer
    from deepphase.controllers.dance.dancing import NetworkDance as NetworkDance
    from deepphase.controllers.dance.dancing import generate_dances as generate_dances
    from deepphase.controllers.dance.training import DanceData as DanceData
    from deepphase.controllers.dance.training import train_dance as train_dance
    from deepphase.controllers.data.controller_batches import ControllerBatches as ControllerBatches
    from deepphase.controllers.data.controller_data import ControllerData as ControllerData
    from deepphase.controllers.networks.network import ControllerNetwork as ControllerNetwork
    from deepphase.controllers.networks.network import (
        ControllerNetworkConfig as ControllerNetworkConfig,
    )
    from deepphase.controllers.networks.network import NetworkDims as NetworkDims
    from deepphase.controllers.networks.registry import register_network as register_network
    from deepphase.controllers.runtime.characters import Characters as Characters
    from deepphase.controllers.runtime.controller import Controller as Controller
    from deepphase.controllers.runtime.frame import CharacterSettings as CharacterSettings
    from deepphase.controllers.runtime.onnx_export import export_controller as export_controller
    from deepphase.controllers.runtime.start import CharacterSource as CharacterSource
    from deepphase.controllers.schema.schema import ControllerSchema as ControllerSchema
    from deepphase.controllers.training.module import ControllerModule as ControllerModule
    from deepphase.controllers.training.train import measured_controller as measured_controller
    from deepphase.controllers.training.train import train_controller as train_controller

# Public name -> the module that defines it.
_MODULES = {
    "Characters": "deepphase.controllers.runtime.characters",
    "CharacterSettings": "deepphase.controllers.runtime.frame",
    "CharacterSource": "deepphase.controllers.runtime.start",
    "Controller": "deepphase.controllers.runtime.controller",
    "ControllerBatches": "deepphase.controllers.data.controller_batches",
    "ControllerConfig": "deepphase.controllers.config",
    "ControllerData": "deepphase.controllers.data.controller_data",
    "ControllerModule": "deepphase.controllers.training.module",
    "ControllerNetwork": "deepphase.controllers.networks.network",
    "ControllerNetworkConfig": "deepphase.controllers.networks.network",
    "ControllerSchema": "deepphase.controllers.schema.schema",
    "DanceConfig": "deepphase.controllers.dance.config",
    "DanceData": "deepphase.controllers.dance.training",
    "Dancer": "deepphase.controllers.dance.dancer",
    "NetworkDance": "deepphase.controllers.dance.dancing",
    "NetworkDims": "deepphase.controllers.networks.network",
    "generate_dances": "deepphase.controllers.dance.dancing",
    "export_controller": "deepphase.controllers.runtime.onnx_export",
    "measured_controller": "deepphase.controllers.training.train",
    "register_network": "deepphase.controllers.networks.registry",
    "train_controller": "deepphase.controllers.training.train",
    "train_dance": "deepphase.controllers.dance.training",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
