"""YAML configs, found by name and checked as dataclasses; checks of values in headers of files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import accumulate, chain
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, Self, TypeVar, get_args, get_origin, get_type_hints

import yaml

from deepphase.arrays import short_repr
from deepphase.errors import ParameterError
from deepphase.files import LARGEST_BYTES, check_size

ConfigValues = TypeVar("ConfigValues")

# Number of values in a representation.
_SHOWN = 3

# A wheel carries configs/ inside the package; a checkout has it beside the package.
_INSIDE, _BESIDE = Path(__file__).with_name("configs"), Path(__file__).parents[1] / "configs"
_FOLDER = _INSIDE if _INSIDE.is_dir() else _BESIDE

_DEEPEST = 50
# Values of a file with its aliases written out: ten aliases of ten aliases grow without an end.
_MOST_VALUES = 100_000
_LARGEST_NUMBER, _MOST_DIGITS = 10**300, 400

# Kind of config -> key of its training that `epochs` replaces.
_COUNTS = {"phase": "windows", "editor": "windows", "controller": "samples", "dance": "samples"}

LARGEST = 1e15
_LONGEST_SHOWN = 40


YAML_ERRORS = (yaml.YAMLError, ValueError, ArithmeticError, RecursionError)
"""Some dates and numbers are refused by Python itself, and nesting has a limit."""


class _Loader(yaml.SafeLoader):
    """Safe loading without merge keys and repeated keys, of whole numbers that fit into a float."""

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        value = super().construct_yaml_int(node) if len(node.value) <= _MOST_DIGITS else math.inf
        if abs(value) > _LARGEST_NUMBER:
            raise _refused(node, "a number is too large")
        return int(value)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key for key, _ in node.value]
        if merge := next((key for key in keys if key.tag == "tag:yaml.org,2002:merge"), None):
            raise _refused(merge, "merge keys (<<) are not read: write the values out")
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(keys):
            values = [key.value for key in keys]
            again = next((k for i, k in enumerate(keys) if k.value in values[:i]), keys[0])
            raise _refused(again, f"the key {str(again.value)[:40]!r} is written twice")
        return mapping


def _refused(node: yaml.Node, problem: str) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)


def config_names(kind: str) -> list[str]:
    """Names of the shipped configs of a kind ("phase", "skeletons")."""
    return sorted(path.stem for path in (_FOLDER / kind).glob("*.yaml"))


def config_path(kind: str, name: str | Path) -> Path:
    """Path of a config: the shipped config of that name, else the file of that path."""
    # Names are defaults: a file of the working folder that is called so was not asked for.
    for path in (_FOLDER / kind / f"{name}.yaml", Path(name)):
        if path.is_file():
            return path
    names = ", ".join(config_names(kind)) or "none"
    raise ParameterError(
        f"there is no config {str(name)!r}: neither a file nor a shipped config",
        hint=f"give a file, or one of the shipped {kind} configs: {names}",
    )


def read_yaml(path: Path) -> Any:
    """The content of a YAML file."""
    try:
        check_size(path, "config", ParameterError)
        return parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        fact = f"cannot be read: {error.strerror or error}"
        raise ParameterError(fact, hint="check the path", path=path) from None
    except YAML_ERRORS as error:
        mark = getattr(error, "problem_mark", None)
        raise ParameterError(
            f"this is not valid YAML: {' '.join(str(error).split())}",
            hint="indent with spaces, and write `key: value`",
            path=path,
            line=None if mark is None else mark.line + 1,
        ) from None


def parse_yaml(text: str) -> Any:
    """The content of YAML text. Raises one of `YAML_ERRORS` if it is not YAML, or too much."""
    if len(text) > LARGEST_BYTES["config"]:
        raise ValueError("it is too long")
    # The time of the parser grows with the square of the depth.
    if max(accumulate((mark in "[{") - (mark in "]}") for mark in text), default=0) > _DEEPEST:
        raise ValueError(f"brackets are nested more than {_DEEPEST} deep")
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        # Before anything is made of them.
        if _values(node, {}) > _MOST_VALUES:
            raise ValueError(f"it has more than {_MOST_VALUES:,} values, by its aliases")
        return None if node is None else loader.construct_document(node)
    finally:
        loader.dispose()


def _values(node: Any, counts: dict[int, float]) -> float:
    """Number of values with aliases written out; inf for one in itself."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    if id(node) not in counts:
        counts[id(node)] = math.inf
        parts = chain(*node.value) if isinstance(node, yaml.MappingNode) else node.value
        counts[id(node)] = 1 + sum(_values(part, counts) for part in parts)
    return counts[id(node)]


def load_config(
    kind: str,
    name: str | Path,
    changes: Mapping[str, Any],
    read: Callable[[dict[str, Any]], ConfigValues],
) -> ConfigValues:
    """Read a config, with changes ("section.key" -> value), and convert it by `read`."""
    path = config_path(kind, name)
    content = read_yaml(path)
    try:
        content = as_mapping({} if content is None else content, "the config")
        for key, value in changes.items():
            section, _, inside = key.partition(".")
            as_mapping(content.setdefault(section, {}), section)[inside] = value
        if kind in _COUNTS:
            _count_epochs(content.get("training"), _COUNTS[kind], changes)
        return read(content)
    except ParameterError as error:
        raise ParameterError(error.fact, hint=error.hint, path=path) from None


def _count_epochs(training: Any, count: str, changes: Mapping[str, Any]) -> None:
    """Let epochs count where they are set and windows, or samples, are not."""
    if not isinstance(training, dict) or "epochs" not in training:
        return
    both = f"training.{count}" in changes
    if "training.epochs" in changes:
        require(not both or training[count] == 0, f"give training.epochs or training.{count}")
        training[count] = 0
    elif not both and training.get(count) is None:
        training[count] = 0


def section(
    kind: type, values: Any, where: str, make: Callable[..., ConfigValues] | None = None
) -> ConfigValues:
    """A dataclass, or what `make` makes of its fields, from a section; None is an empty one."""
    declared = {item.name: _type_name(item.type) for item in fields(kind)}
    values = as_mapping({} if values is None else values, where)
    check_known(values, declared, where)
    typed = {key: _typed(f"{where}.{key}", declared[key], each) for key, each in values.items()}
    return (kind if make is None else make)(**typed)


@dataclass(frozen=True)
class SectionedConfig:
    """Base of configs: each field is a section, whose dataclass is the field's default factory."""

    kind: ClassVar[str]  # Folder of the shipped configs

    @classmethod
    def load(cls, name: str | Path, **changes: Any) -> Self:
        """Read the shipped config of that name, or a YAML file, with dotted `changes`.

        ``PhaseConfig.load("paper", **{"network.channels": 8})``. Raises ParameterError if there is
        no such config, a key is unknown or a value is invalid.
        """
        return load_config(cls.kind, name, changes, cls.from_mapping)

    @classmethod
    def from_mapping(cls, content: Any) -> Self:
        """A config from nested mappings, as in YAML files and in the headers of files."""
        parts = as_mapping(content, "the config")
        kinds: dict[str, Any] = {key.name: key.default_factory for key in fields(cls)}
        check_known(parts, kinds, "the config")
        return cls(**{name: section(kind, parts.get(name), name) for name, kind in kinds.items()})

    def __repr__(self) -> str:
        """What differs from the defaults, with their names in files."""
        changes = [
            f"{key.name}.{name}={value!r}"
            for key in fields(self)
            for name, value in vars(getattr(self, key.name)).items()
            if value != getattr(key.default_factory(), name)  # type: ignore[misc, operator]
        ]
        more = f"and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
        return short_repr(self, *changes[:_SHOWN], more if changes else "defaults")

    def as_mapping(self) -> dict[str, Any]:
        """The nested mappings that `from_mapping` reads."""
        return asdict(self)


def require(holds: bool, otherwise: str) -> None:
    """Raise ParameterError with this text unless a condition on a config holds."""
    if not holds:
        raise ParameterError(otherwise)


# Bounds next to those that are not reached.
ABOVE_0, BELOW_90, BELOW_1 = math.ulp(0.0), math.nextafter(0.9, 0.0), math.nextafter(1.0, 0.0)


def require_in(config: object, **bounds: tuple[float, float]) -> None:
    """Raise ParameterError unless each of these fields, or None, lies in its closed range."""
    for name, (low, high) in bounds.items():
        value = getattr(config, name)
        if value is not None and not low <= value <= high:
            least, most = round(low, 6), round(high, 6)
            above = "above" if least < low else "at least"
            below = "below" if most > high else "at most"
            raise ParameterError(
                f"{name} must be {above} {least:g} and {below} {most:g}, not {value}"
            )


def require_one_of(config: object, **kinds: Any) -> None:
    """Raise ParameterError unless each of these fields has a value of its `Literal`."""
    for name, kind in kinds.items():
        if getattr(config, name) not in get_args(kind):
            hint = f"one of {', '.join(get_args(kind))}"
            raise ParameterError(f"{name} cannot be {getattr(config, name)!r}", hint=hint)


def as_mapping(values: Any, where: str) -> dict[str, Any]:
    """The values; ParameterError where they are not a mapping."""
    if not isinstance(values, dict):
        raise ParameterError(f"{where} must be a mapping of keys to values")
    return values


def check_known(values: Iterable[str], known: Iterable[str], where: str) -> None:
    """ParameterError at the first key that is not known."""
    known = list(known)
    for name in values:
        if name not in known:
            raise ParameterError(
                f"there is an unknown key {name!r} in {where}",
                hint=f"known keys: {', '.join(known)}",
            )


def _type_name(declared: Any) -> str:
    """As it is written in the source; modules with and without postponed annotations are alike."""
    if isinstance(declared, str):
        return declared
    return declared.__name__ if isinstance(declared, type) else str(declared)


def _typed(name: str, declared: str, value: Any) -> Any:
    """The value as its field's type: YAML reads 1e-4 as text, and 2 where a float is meant."""
    try:
        if declared.startswith("tuple"):
            inside = declared.removeprefix("tuple[").partition(",")[0]
            texts = inside == "str"
            if isinstance(value, str) or (texts and not all(isinstance(v, str) for v in value)):
                raise TypeError
            return tuple(_typed(name, inside, item) for item in value)
        if value is None and declared.endswith("None"):
            return None
        if declared == "bool" or isinstance(value, bool):
            if declared != "bool" or not isinstance(value, bool):
                raise TypeError
            return value
        if declared.startswith("int"):
            if float(value) != int(float(value)):
                raise ValueError
            return int(float(value))
        return float(value) if declared.startswith("float") else str(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name} must be {declared}, not {value!r}") from None


def checked_number(
    value: Any, name: str, lowest: float = -LARGEST, highest: float = LARGEST
) -> float:
    """A finite number within bounds. Raises ParameterError."""
    if type(value) not in (int, float) or not lowest <= value <= highest:
        raise wrong_value(value, name, f"a number from {lowest:g} to {highest:g}")
    return float(value)


def checked_count(value: Any, name: str, lowest: int = 0, highest: int = int(LARGEST)) -> int:
    """A whole number within bounds. Raises ParameterError."""
    if type(value) is not int or not lowest <= value <= highest:
        raise wrong_value(value, name, f"a whole number from {lowest} to {highest}")
    return value


def checked_text(value: Any, name: str) -> str:
    """A text. Raises ParameterError."""
    # Neither files nor terminals take halves of surrogate pairs.
    if not isinstance(value, str) or value != value.encode(errors="ignore").decode():
        raise wrong_value(value, name, "a text")
    return value


def checked_texts(value: Any, name: str) -> tuple[str, ...]:
    """A list of texts. Raises ParameterError."""
    if not isinstance(value, list):
        raise wrong_value(value, name, "a list of texts")
    return tuple(checked_text(text, name) for text in value)


def checked_labels(value: Any, name: str = "labels") -> dict[str, str]:
    """Texts by name. Raises ParameterError."""
    if not isinstance(value, Mapping):
        raise wrong_value(value, name, "texts by name")
    return {label: checked_text(text, name) for label, text in value.items()}


def checked_mapping(value: Any, name: str) -> dict[str, Any]:
    """A JSON object. Raises ParameterError."""
    if not isinstance(value, dict):
        raise wrong_value(value, name, "an object")
    return value


def checked_record(kind: type[ConfigValues], value: Any, name: str) -> ConfigValues:
    """A dataclass from an object with all of its fields, each of its declared type.

    Raises ParameterError for another type or number, KeyError and ValueError for what is missing.
    """
    content, hints = checked_mapping(value, name), get_type_hints(kind)
    own: Any = kind
    return own(
        **{key.name: _checked(hints[key.name], content[key.name], key.name) for key in fields(own)}
    )


def _checked(kind: Any, value: Any, name: str) -> Any:
    arguments = get_args(kind)
    if NoneType in arguments:
        return None if value is None else _checked(arguments[0], value, name)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise wrong_value(value, name, "a list")
        kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        return tuple(_checked(own, each, name) for own, each in zip(kinds, value, strict=True))
    if get_origin(kind) is dict:
        parts = checked_mapping(value, name)
        return {key: _checked(arguments[1], part, key) for key, part in parts.items()}
    if kind is bool:
        if not isinstance(value, bool):
            raise wrong_value(value, name, "true or false")
        return value
    checks: dict[Any, Any] = {float: checked_number, int: checked_count, str: checked_text}
    return checks[kind](value, name) if kind in checks else checked_record(kind, value, name)


def check_numbers(value: Any) -> None:
    """Raise ParameterError if a number anywhere in a JSON value is not finite or is absurd."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, (int, float)) and not abs(item) <= LARGEST:
            raise ParameterError(
                f"a number of {_shown(item)} in the header is not possible",
                hint="make the file again",
            )


def wrong_value(value: Any, name: str, expected: str) -> ParameterError:
    return ParameterError(f"{name} is {_shown(value)}, expected {expected}")


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    # Python prints no whole numbers of more than 4,300 digits.
    except ValueError:
        text = "of too many digits"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
