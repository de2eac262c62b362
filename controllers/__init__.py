"""Controllers: networks that generate motion along a desired trajectory or to a song.

::

    import deepphase as dp

    store, model = dp.corpus_of("mocap.store"), dp.load_model("walk.model")
    config = dp.controllers.ControllerConfig.load("experts")
    data = dp.controllers.ControllerData.read(store, config, model)
    controller = dp.controllers.train_controller(data, config, folder="walk.unfinished")
    controller.save("walk.controller")

`ControllerSchema` names the inputs and outputs of a network, `register_network` registers a network
of your own, and `Characters` advances any number of characters with one controller in one batch. A
`Dancer` is a controller that is conditioned on a song.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.controllers.config import ControllerConfig as ControllerConfig
    from deepphase.controllers.dance.config import DanceConfig as DanceConfig
    from deepphase.controllers.dance.dancer import Dancer as Dancer
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
    from deepphase.controllers.runtime.engine_export import export_controller as export_controller
    from deepphase.controllers.runtime.frame import CharacterSettings as CharacterSettings
    from deepphase.controllers.runtime.start import CharacterSource as CharacterSource
    from deepphase.controllers.schema.schema import ControllerSchema as ControllerSchema
    from deepphase.controllers.training.module import ControllerModule as ControllerModule
    from deepphase.controllers.training.train import measured_controller as measured_controller
    from deepphase.controllers.training.train import train_controller as train_controller

__getattr__, __dir__, __all__ = lazy_names(__name__)
