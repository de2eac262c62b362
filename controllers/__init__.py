"""Controllers: networks that generate motion along a desired trajectory or to a song.

::

    import controllers
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
    from controllers.config import ControllerConfig as ControllerConfig
    from controllers.dance.config import DanceConfig as DanceConfig
    from controllers.dance.dancer import Dancer as Dancer
    from controllers.dance.dancing import NetworkDance as NetworkDance
    from controllers.dance.dancing import generate_dances as generate_dances
    from controllers.dance.training import DanceData as DanceData
    from controllers.dance.training import train_dance as train_dance
    from controllers.data.controller_batches import ControllerBatches as ControllerBatches
    from controllers.data.controller_data import ControllerData as ControllerData
    from controllers.networks.network import ControllerNetwork as ControllerNetwork
    from controllers.networks.network import ControllerNetworkConfig as ControllerNetworkConfig
    from controllers.networks.network import NetworkDims as NetworkDims
    from controllers.networks.registry import register_network as register_network
    from controllers.runtime.characters import Characters as Characters
    from controllers.runtime.controller import Controller as Controller
    from controllers.runtime.frame import CharacterSettings as CharacterSettings
    from controllers.runtime.onnx_export import export_controller as export_controller
    from controllers.runtime.start import CharacterSource as CharacterSource
    from controllers.schema.schema import ControllerSchema as ControllerSchema
    from controllers.training.module import ControllerModule as ControllerModule
    from controllers.training.train import measured_controller as measured_controller
    from controllers.training.train import train_controller as train_controller

# Public name -> the module that defines it.
_MODULES = {
    "Characters": "controllers.runtime.characters",
    "CharacterSettings": "controllers.runtime.frame",
    "CharacterSource": "controllers.runtime.start",
    "Controller": "controllers.runtime.controller",
    "ControllerBatches": "controllers.data.controller_batches",
    "ControllerConfig": "controllers.config",
    "ControllerData": "controllers.data.controller_data",
    "ControllerModule": "controllers.training.module",
    "ControllerNetwork": "controllers.networks.network",
    "ControllerNetworkConfig": "controllers.networks.network",
    "ControllerSchema": "controllers.schema.schema",
    "DanceConfig": "controllers.dance.config",
    "DanceData": "controllers.dance.training",
    "Dancer": "controllers.dance.dancer",
    "NetworkDance": "controllers.dance.dancing",
    "NetworkDims": "controllers.networks.network",
    "generate_dances": "controllers.dance.dancing",
    "export_controller": "controllers.runtime.onnx_export",
    "measured_controller": "controllers.training.train",
    "register_network": "controllers.networks.registry",
    "train_controller": "controllers.training.train",
    "train_dance": "controllers.dance.training",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
