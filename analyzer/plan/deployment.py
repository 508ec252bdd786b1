"""The declared facts a plan rests on, as one file: model, hardware, link and limits."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from math import inf
from pathlib import Path
from typing import Any

import yaml

from analyzer.plan.errors import BadPlan
from analyzer.plan.kv_cost import KvFormat, Link, Transfer, bytes_per_token
from analyzer.plan.layout import Routing, Settings
from analyzer.plan.model_config import ModelShape
from analyzer.plan.provenance import Input, Label
from analyzer.plan.sizing import KvRoom
from analyzer.plan.step_model import (
    H100_X8,
    LLAMA3_70B_KV_BYTES,
    LLAMA3_70B_PARAMETERS,
    LLAMA3_70B_WEIGHT_BYTES,
    Hardware,
)


@dataclass(frozen=True, slots=True)
class Deployment:
    """One serving instance and what its instances share; the default is Llama 3 70B on 8 x H100.

    Sizes in bytes, rates per second and per accelerator or NIC, times in seconds. `limit_kv` makes the
    simulation stop admitting when an instance's KV memory is full.
    """

    weight_bytes: float = LLAMA3_70B_WEIGHT_BYTES
    parameters: float = LLAMA3_70B_PARAMETERS
    layers: int = 80
    kv_bytes_per_token: float = LLAMA3_70B_KV_BYTES
    accelerators: int = H100_X8.accelerators
    memory_bytes: float = H100_X8.memory_bytes
    memory_bytes_per_s: float = H100_X8.memory_bytes_per_s
    flop_per_s: float = H100_X8.flop_per_s
    step_overhead_s: float = H100_X8.overhead_s
    runtime_bytes: float = 8 * 6e9
    nics: int = 8
    nic_bytes_per_s: float = 50e9
    link_efficiency: float = 0.8
    transfer_overhead_s: float = 0.0
    overlap: bool = True
    max_seqs: int = 256
    limit_kv: bool = False
    routing: str = "round-robin"
    lease_s: float | None = None
    retries: int = 0
    retry_after_s: float = 0.0

    def with_model(self, shape: ModelShape, kv: KvFormat) -> "Deployment":
        """The same with another model's layers and KV; weights and parameters stay as declared."""
        known = asdict(self)
        return Deployment(
            **{**known, "layers": shape.layers, "kv_bytes_per_token": bytes_per_token(shape, kv)}
        )

    @property
    def hardware(self) -> Hardware:
        """The instance's accelerators."""
        return Hardware(
            self.accelerators,
            self.memory_bytes_per_s,
            self.flop_per_s,
            self.step_overhead_s,
            self.memory_bytes,
        )

    @property
    def kv_room(self) -> KvRoom:
        """KV memory of one instance."""
        memory = self.accelerators * self.memory_bytes
        return KvRoom(memory, self.weight_bytes, self.runtime_bytes, self.kv_bytes_per_token)

    def settings(self, exact: bool = True) -> Settings:
        """The simulation settings; BadPlan when a fact is out of range."""
        if self.routing not in list(Routing):
            raise BadPlan(f"routing is {self.routing!r}; known: {', '.join(Routing)}")
        link = Link(self.nics, self.nic_bytes_per_s, self.link_efficiency)
        transfer = Transfer(
            self.kv_bytes_per_token, self.layers, link, self.overlap, self.transfer_overhead_s
        )
        model = self.hardware.step_model(self.weight_bytes, self.kv_bytes_per_token, self.parameters)
        return Settings(
            model=model,
            transfer=transfer,
            max_seqs=self.max_seqs,
            kv_tokens=self.kv_room.tokens if self.limit_kv else inf,
            routing=Routing(self.routing),
            lease_s=inf if self.lease_s is None else self.lease_s,
            retries=self.retries,
            retry_after_s=self.retry_after_s,
            exact=exact,
        )

    def inputs(self, by: str) -> list[Input]:
        """Every number with its provenance: declared `by`, or derived from what was."""
        model = self.settings().model
        rows: list[tuple[str, float, str]] = [
            ("weight_bytes", self.weight_bytes, "B"),
            ("parameters", self.parameters, "parameters active per token"),
            ("runtime_bytes", self.runtime_bytes, "B"),
            ("kv_bytes_per_token", self.kv_bytes_per_token, "B/token"),
            ("layers", self.layers, "layers"),
            ("nics", self.nics, "NICs per instance"),
            ("nic_bytes_per_s", self.nic_bytes_per_s, "B/s per NIC, peak"),
            ("link_efficiency", self.link_efficiency, "share of peak reached"),
            ("transfer_overhead_s", self.transfer_overhead_s, "s per hand-off"),
        ]
        supplied = [Input(name, value, unit, Label.SUPPLIED, by) for name, value, unit in rows]
        share = "/ accelerators_per_instance / memory_bytes_per_s"
        compute = "2 * parameters / accelerators_per_instance / flop_per_s"
        derived = [
            Input("step_weights_s", model.weights_s, "s", Label.DERIVED, f"weight_bytes {share}"),
            Input(
                "step_context_s_per_token", model.context_s_per_token, "s/token", Label.DERIVED,
                f"kv_bytes_per_token {share}",
            ),
            Input("step_compute_s_per_token", model.compute_s_per_token, "s/token", Label.DERIVED, compute),
        ]  # fmt: skip
        return [*self.hardware.inputs(by), *supplied, *derived]


def deployment(raw: Mapping[str, Any], where: str) -> Deployment:
    """A deployment from a parsed file; BadPlan names `where` and the field."""
    known = {field.name: field.type for field in fields(Deployment)}
    if unknown := sorted(str(name) for name in raw if name not in known):
        raise BadPlan(f"{where}: unknown fields {', '.join(unknown)}; known: {', '.join(known)}")
    raw = {name: _number(known[name], value) for name, value in raw.items()}
    for name, value in raw.items():
        if problem := _wrong_type(known[name], value):
            raise BadPlan(f"{where}: field {name} is {value!r}; it must be {problem}")
    try:
        made = Deployment(**raw)
        made.settings()
    except BadPlan as error:
        raise BadPlan(f"{where}: {error}") from error
    return made


def _number(wanted: Any, value: Any) -> Any:
    """`value`, but 9e12 as the number it is: YAML 1.1 reads an exponent without a sign as text."""
    if isinstance(value, str) and wanted not in (str, bool, int):
        with suppress(ValueError):
            return float(value)
    return value


_LARGEST = 1e30
"""No fact of hardware or model is larger; numbers beyond what a float holds cannot be computed with."""


def _wrong_type(wanted: Any, value: Any) -> str:
    """What a field must be, when `value` is not; empty when it is."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
    ok = {
        int: isinstance(value, int) and number,
        float: number,
        bool: isinstance(value, bool),
        str: isinstance(value, str),
    }.get(wanted, value is None or number)
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return "" if ok else names.get(wanted, "a number or null")


def read_deployment(path: Path) -> Deployment:
    """The deployment in a YAML or JSON file; BadPlan names the file and the field."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadPlan(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise BadPlan(f"{path}: is not YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(raw, dict):
        raise BadPlan(f"{path}: the top level is {type(raw).__name__}, not fields with values")
    return deployment(raw, str(path))


def template() -> str:
    """The default deployment as a YAML file to edit."""
    return yaml.safe_dump(asdict(Deployment()), sort_keys=False)
