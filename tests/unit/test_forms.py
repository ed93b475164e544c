"""The JSON schema of each method's form says what the declaration says."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from inside.methods import declared_methods
from inside.trial import form_schema, property_schema, section_keys


@pytest.mark.parametrize("name", declared_methods())
def test_a_form_is_a_valid_schema_of_the_declared_options(name: str) -> None:
    method = declared_methods()[name]
    schema = form_schema(method)
    Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema
    keys = section_keys(method)
    assert list(schema["properties"]) == ["title", *keys]
    assert schema["required"] == [key for key, argument in keys.items() if argument.required]
    for key, argument in keys.items():
        found = property_schema(argument)
        check = Draft202012Validator(found)
        assert found["description"] == argument.option.help
        if not argument.required:
            assert check.is_valid(found["default"]), key
        for choice in argument.choices:
            assert check.is_valid(choice), key
        for value in (-(10**9), 10**9, -1, 0, 1, 0.5, "no such choice", True):
            if argument.fault(value) is not None:
                assert not check.is_valid(value), (key, value)
