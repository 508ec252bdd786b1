"""Holds an answer against the OpenAPI document that is served beside it."""

from typing import Any

Json = dict[str, Any]


class Shapes:
    """The schemas of one OpenAPI document."""

    def __init__(self, document: Json):
        self._document = document

    def of(self, path: str, status: str = "200") -> Json:
        """Schema of the answer to a path's only method."""
        (method,) = self._document["paths"][path].values()
        found: Json = method["responses"][status]["content"]["application/json"]["schema"]
        return found

    def fields(self, name: str) -> set[str]:
        """Field names of a named schema."""
        return set(self._document["components"]["schemas"][name]["properties"])

    def faults(self, value: Any, schema: Json, at: str = "") -> list[str]:
        """Where a value departs from its schema: fields that are missing or undocumented, wrong types."""
        if "$ref" in schema:
            schema = self._document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        if "anyOf" in schema:
            tried = [self.faults(value, option, at) for option in schema["anyOf"]]
            return min(tried, key=len)
        kind = schema.get("type")
        if kind == "object" and isinstance(value, dict):
            return self._object_faults(value, schema, at)
        if kind == "array" and isinstance(value, list):
            return [
                fault
                for n, item in enumerate(value)
                for fault in self.faults(item, schema["items"], f"{at}[{n}]")
            ]
        return [] if _is(value, kind) else [f"{at}: {value!r} is no {kind}"]

    def _object_faults(self, value: Json, schema: Json, at: str) -> list[str]:
        if "properties" not in schema:
            rest = schema["additionalProperties"]
            return [
                fault for name, item in value.items() for fault in self.faults(item, rest, f"{at}.{name}")
            ]
        known = schema["properties"]
        faults = [
            f"{at}.{name}: {'not documented' if name in value else 'missing'}"
            for name in known ^ value.keys()
        ]
        return faults + [
            fault
            for name in known.keys() & value.keys()
            for fault in self.faults(value[name], known[name], f"{at}.{name}")
        ]


def _is(value: Any, kind: str | None) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    types: dict[str | None, Any] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "null": type(None),
    }
    return kind in types and isinstance(value, types[kind])
