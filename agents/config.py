"""Configurations: a pydantic model, a YAML file, and overrides from the command line."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar, get_args

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from agents.files import read_bytes
from ginenv.errors import GinError, must_be, quoted, unknown_name

# In a clone this is a link to the top-level directory; a package holds the files themselves.
SHIPPED = Path(__file__).parent / "configs"


class ConfigError(GinError):
    """A configuration that cannot be read, or a key or value that does not exist."""


class Config(BaseModel):
    """Base of all configurations: refuses unknown keys and numbers that are not finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError(_sentence(error, type(self))) from None


# Of a layer of a network, and layers of a network; checkpoints hold no wider and no more.
WIDEST, MAX_LAYERS = 8192, 32
_Width = Annotated[int, Field(gt=0, le=WIDEST)]
_Widths = Annotated[tuple[_Width, ...], Field(min_length=1, max_length=MAX_LAYERS)]


class NetworkConfig(Config):
    """The actor and the critic, which share nothing.

    Attributes:
        actor: widths of the actor's hidden layers, which treat suits alike (``agents.network.suits``): a width counts the numbers of each
            suit, with as many again that belong to no suit.
        critic: widths of the critic's.
    """

    actor: _Widths = (64, 64)
    critic: _Widths = (64, 64)


class PoolMember(Config):
    """An opponent in training that does not learn.

    Attributes:
        player: its name, as in ``evaluate.py``.
        weight: its share among the pool's games.
    """

    player: str
    weight: float = Field(1.0, gt=0)


_Number = TypeVar("_Number")
# A number that moves in the course of a run: at its start and at its end. A single one stays.
_Course = Annotated[
    tuple[_Number, _Number], BeforeValidator(lambda value: (value, value) if isinstance(value, int | float) else value)
]


class TrainConfig(Config):
    """Settings of a training run.

    Attributes:
        seed: seeds the deals, the network and the sampling.
        decisions: total number of the learner's decisions.
        minutes: time limit (0: none).
        num_envs: games played in lock-step.
        num_steps: half-moves of every game in one batch.
        rules: presets and their shares of the games.
        network: sizes of the networks.
        learning_rate: Adam's at the start and at the end of the run; a single number stays. From this line it departs to follow the
            target divergence.
        target_kl: divergence per batch (Schulman's k3 estimate) to which the learning rate is adapted.
        clip: PPO's clip range.
        trained_fraction: share of a batch's decisions that are trained on: those of the largest advantages; with a ``q_weight``, those of
            several probable actions, and others at random. Decisions between knocking and playing on are always trained on, and all
            decisions during imitation.
        minibatch: decisions in one gradient step.
        q_weight: weight, where several actions are probable, of learning from the critic's values of all of them; the rest of the weight is
            that of the action taken and its generalised advantage (0: that alone).
        entropy_coef: weight of the entropy bonus (entropy is divided by the log of the number of legal actions), at the start and the end.
        kl_to_start_coef: weight of the divergence from the policy that the run started from (0: none).
        critic_warmup: decisions at the start in which only the critic learns, until it knows the reward and the opponents.
        ema_decay: decay per gradient step of the averaged weights, which are evaluated and exported.
        reward: ``points`` of a hand / 50, or the change in the chance to win the ``game``.
        imitation_decisions: decisions at the start in which ``knocker`` is imitated (in hands played for gin only, ``camper``), while the
            critic learns the value of that play.
        gin_only: share of hands that a seat plays for gin from the start.
        commit: chance that declining a knock commits the seat to gin for the rest of the hand, at the start and the end. The
            knock decision's own loss fades with it; 0 takes it away.
        pool: fixed opponents. The critic knows the first twelve apart.
        pool_share: share of games in which one seat is a fixed opponent.
        past_policy_share: share of games in which one seat is a past policy.
        eval_games: games per measurement against each opponent: the network with which self-play began, and the panel of
            ``gin evaluate``; the match by which ``best`` is chosen has four times as many, and ten times at the end.
        eval_every: minutes between two measurements.
        threads: number of threads for play and matrix products (0: torch's default).
        device: torch device of the networks.
    """

    seed: int = Field(0, ge=0)
    decisions: int = Field(4_000_000, gt=0)
    minutes: float = Field(0, ge=0)
    num_envs: int = Field(1024, gt=0)
    num_steps: int = Field(64, gt=1)
    rules: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=lambda: {"eaai": 1.0}, min_length=1)
    network: NetworkConfig = NetworkConfig()
    learning_rate: _Course[Annotated[float, Field(gt=0)]] = (1e-3, 1e-4)
    target_kl: float = Field(0.01, gt=0)
    clip: float = Field(0.15, gt=0)
    trained_fraction: float = Field(1.0, gt=0, le=1)
    minibatch: int = Field(4096, gt=0)
    q_weight: float = Field(0.0, ge=0, le=1)
    entropy_coef: _Course[Annotated[float, Field(ge=0)]] = (0.03, 0.005)
    kl_to_start_coef: float = Field(0.0, ge=0)
    critic_warmup: int = Field(0, ge=0)
    ema_decay: float = Field(0.999, ge=0, lt=1)
    reward: Literal["points", "game"] = "points"
    imitation_decisions: int = Field(0, ge=0)
    gin_only: float = Field(0.15, ge=0, le=1)
    commit: _Course[Annotated[float, Field(ge=0, le=1)]] = (0.85, 0.85)
    pool: tuple[PoolMember, ...] = ()
    pool_share: float = Field(0.15, ge=0, le=1)
    past_policy_share: float = Field(0.1, ge=0, le=1)
    eval_games: int = Field(400, gt=0)
    eval_every: float = Field(5, gt=0)
    threads: int = Field(0, ge=0)
    device: str = "cpu"

    @model_validator(mode="after")
    def _settings_fit_each_other(self) -> TrainConfig:
        if self.num_envs * self.num_steps <= self.minibatch // 2:
            raise ValueError(
                f"num_envs times num_steps is {self.num_envs * self.num_steps}, too few for a gradient step; it must be more than half of "
                f"minibatch, {self.minibatch // 2}"
            )
        return self


class _Loader(yaml.SafeLoader):
    """YAML's own reader, except that keys are names, and that a key given twice, of which the last would count, is an error."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if not key.tag.endswith((":str", ":merge")):
                raise ConfigError(f"line {key.start_mark.line + 1} has a key that is not a name")
            if key.value in seen:
                raise ConfigError(f"key {quoted(key.value)} is given twice, again in line {key.start_mark.line + 1}")
            seen.add(key.value)
        return node


def _parse_yaml(text: str, what: str) -> Any:
    """The value of a YAML text; no other function reads YAML.

    Raises:
        ConfigError: if it is not YAML.
    """
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{what} is not YAML: {error.problem}{where}") from None
    # A date that does not exist, a tag without a value, a thousand brackets: YAML's reader raises whatever Python does.
    except Exception as error:
        words = " ".join(str(error).replace(' in "<unicode string>",', " at").split())
        raise ConfigError(f"{what}: {words}") from None


def _sentence(error: ValidationError, model: type[BaseModel]) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    own = first.get("ctx", {}).get("error")
    if own is not None:
        # The model's own check, or the message of a nested configuration.
        return f"{where}: {own}" if where else str(own)
    if first["type"] == "extra_forbidden":
        return unknown_name("key", where, model.model_fields)
    if first["type"] == "missing":
        return f"{where} is missing"
    return f"{where or 'it'} is {quoted(first.get('input'))}; {first['msg'].lower()}"


def parse_config(values: dict[str, Any], model: type[Config] = TrainConfig, source: str = "configuration") -> Any:
    """A configuration from plain values.

    Raises:
        ConfigError: for an unknown key or a wrong value.
    """
    try:
        return model.model_validate(values)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None
    except ValidationError as error:
        raise ConfigError(f"{source}: {_sentence(error, model)}") from None


def _find(path: Path) -> Path:
    """The file at a path or, if there is none, the one that comes with the package as ``quick`` or ``configs/quick.yaml``."""
    if path.exists() and not path.is_dir():
        return path
    if path.parent == Path() and not path.suffix:
        return SHIPPED / f"{path.name}.yaml"
    return SHIPPED / path.name if path.parent == Path("configs") else path


def _is_of(file: Path, model: type[Config]) -> bool:
    """Whether a shipped configuration is of this kind: a tournament's is not a training run's."""
    try:
        load_config(file, (), model)
    except ConfigError:
        return False
    return True


def load_config(path: str | Path, overrides: Sequence[str] = (), model: type[Config] = TrainConfig) -> Any:
    """A configuration from a YAML file, changed by ``key=value`` overrides (``network.actor=[512,512]``).

    ``NAME`` and ``configs/NAME.yaml`` are the one that comes with the package if the current directory has no such file.

    Raises:
        ConfigError: if the file cannot be read, or a key or value does not exist.
    """
    try:
        text = read_bytes(_find(Path(path))).decode()
    except OSError as error:
        found = [file.stem for file in sorted(SHIPPED.glob("*.yaml")) if _is_of(file, model)]
        raise ConfigError(
            f"configuration {path} cannot be read ({error.strerror}); known: {', '.join(found)}"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"configuration {path} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    values = _parse_yaml(text, f"configuration {path}") or {}
    if not isinstance(values, dict):
        raise ConfigError(must_be(f"configuration {path}", "a mapping of keys to values", type(values).__name__))
    return parse_config(override(values, overrides), model, str(path))


def override(values: dict[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """Plain values changed by ``key=value`` overrides, in place.

    Raises:
        ConfigError: if an override is not written ``key=value``, its value is not YAML, or its key is given twice.
    """
    given = set()
    for text in overrides:
        key, separator, written = text.partition("=")
        if not separator:
            raise ConfigError(f"override {text!r} has no value; overrides are written key=value")
        if key in given:
            raise ConfigError(f"override {text!r}: {key} is given twice")
        given.add(key)
        value = _parse_yaml(written, f"the value of override {text!r}")
        target = values
        *parents, last = key.split(".")
        for parent in parents:
            target = target.setdefault(parent, {})
            if not isinstance(target, dict):
                raise ConfigError(f"override {text!r}: {parent} is {target!r}, which has no keys")
        target[last] = value
    return values


def describe_keys(model: type[BaseModel], headings: Mapping[str, str] = MappingProxyType({}), indent: str = "") -> str:
    """The keys of a configuration, one a line: what each means and its default.

    Args:
        model: the configuration.
        headings: headings, by the key that each stands above.
        indent: put before each line; the keys of a nested configuration stand further to the right.
    """
    docs = "\n".join(inspect.getdoc(each) or "" for each in model.__mro__ if each.__module__ == model.__module__)
    about = dict(re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", docs, re.MULTILINE))
    lines = []
    for key, field in model.model_fields.items():
        if key in headings:
            lines.append(f"\n{headings[key]}")
        kinds = (field.annotation, *get_args(field.annotation))
        nested = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
        value = field.get_default(call_default_factory=True)
        default = (
            ""
            if nested or field.is_required()
            else f" [{', '.join(map(str, value)) if isinstance(value, tuple) else value}]"
        )
        lines.append(f"{indent}{key}: {' '.join(about[key].replace('``', '').split())}{default}")
        lines += [describe_keys(kind, indent=indent + "    ") for kind in nested]
    return "\n".join(lines)
