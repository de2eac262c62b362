"""Controllers: networks that generate motion from phases, along a desired trajectory or to a song.

::

    import controllers
    import deepphase as dp

    controller = controllers.Controller.load("walk.controller")
    path = dp.made_path("circle", speed=1.3, seconds=10.0)
    source = controllers.CharacterSource(controller)
    characters, follower = dp.start_on_path(source, path, characters=100)
    for _ in range(600):  # dp.rollout(characters, follower, 10.0) records them
        frame = characters.step(follower)  # arrays of all characters: one batch, 60 Hz

A training reads clips once and fits a network to their frames::

    store, model = dp.open_store("mocap.store"), dp.load_extractor("walk.model")
    config = controllers.ControllerConfig.load("experts")
    data = controllers.ControllerData.read(store, config, model)
    controller = controllers.train_controller(data, config, folder="walk.unfinished")
    controller.save("walk.controller")

`schema` names the values that go in and come out, `networks` holds one network per file
(`register_network` adds yours), and `Character` advances any number of bodies with one of them. A
`Dancer` is a controller whose control is a song.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.lazy_names import lazy_names

if TYPE_CHECKING:
    from controllers.character import Character as Character
    from controllers.character_frame import CharacterSettings as CharacterSettings
    from controllers.configuration import ControllerConfig as ControllerConfig
    from controllers.controller import Controller as Controller
    from controllers.dance_config import DanceConfig as DanceConfig
    from controllers.dance_training import DanceLessons as DanceLessons
    from controllers.dance_training import train_dance as train_dance
    from controllers.dancer import Dancer as Dancer
    from controllers.dancing import NetworkDance as NetworkDance
    from controllers.dancing import dances_to as dances_to
    from controllers.data.controller_batches import ControllerBatches as ControllerBatches
    from controllers.data.controller_data import ControllerData as ControllerData
    from controllers.lesson import ControllerLesson as ControllerLesson
    from controllers.networks.network import ControllerNetwork as ControllerNetwork
    from controllers.networks.network import ControllerNetworkConfig as ControllerNetworkConfig
    from controllers.networks.network import NetworkDims as NetworkDims
    from controllers.networks.registry import register_network as register_network
    from controllers.onnx_export import export_controller as export_controller
    from controllers.run_start import CharacterSource as CharacterSource
    from controllers.schema import ControllerSchema as ControllerSchema
    from controllers.training import measured_controller as measured_controller
    from controllers.training import train_controller as train_controller

# Public name -> the module that defines it.
_MODULES = {
    "Character": "controllers.character",
    "CharacterSettings": "controllers.character_frame",
    "CharacterSource": "controllers.run_start",
    "Controller": "controllers.controller",
    "ControllerBatches": "controllers.data.controller_batches",
    "ControllerConfig": "controllers.configuration",
    "ControllerData": "controllers.data.controller_data",
    "ControllerLesson": "controllers.lesson",
    "ControllerNetwork": "controllers.networks.network",
    "ControllerNetworkConfig": "controllers.networks.network",
    "ControllerSchema": "controllers.schema",
    "DanceConfig": "controllers.dance_config",
    "DanceLessons": "controllers.dance_training",
    "Dancer": "controllers.dancer",
    "NetworkDance": "controllers.dancing",
    "NetworkDims": "controllers.networks.network",
    "dances_to": "controllers.dancing",
    "export_controller": "controllers.onnx_export",
    "measured_controller": "controllers.training",
    "register_network": "controllers.networks.registry",
    "train_controller": "controllers.training",
    "train_dance": "controllers.dance_training",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _MODULES)
