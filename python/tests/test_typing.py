"""The stub matches the module, and every public function is typed and documented."""

import ast
import inspect
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import ovde
from ovde import _core

STUB = Path(ovde.__file__).with_name("_core.pyi")


def of_stub():
    names = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ClassDef):
            names[node.name] = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = None
    return names


def parameters(node):
    return [argument.arg for argument in node.args.args if argument.arg != "self"]


def bound_parameters(function):
    """As the first line of pybind11's docstring has them."""
    inside = re.match(r"\w+\((.*)\) ->", function.__doc__).group(1)
    names = re.findall(r"(\w+): ", re.sub(r"\[[^]]*\]", "", inside))
    return [name for name in names if name not in ("self",)]


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_stub_matches_the_module():
    stub = of_stub()
    assert public(stub) == public(vars(_core))
    for name, node in stub.items():
        thing = getattr(_core, name)
        if isinstance(node, dict) and not issubclass(thing, Exception):
            assert public(node) == public(vars(thing)), name
            for method, inner in node.items():
                member = inspect.getattr_static(thing, method)
                if not isinstance(member, property) and method != "__init__":
                    assert parameters(inner) == bound_parameters(getattr(thing, method)), f"{name}.{method}"
        elif isinstance(node, ast.FunctionDef):
            assert parameters(node) == bound_parameters(thing), name


def test_public_functions_are_typed_and_documented(gymnasium):
    for name in ovde.__all__:
        thing = getattr(ovde, name)
        assert thing.__doc__ or name in ("tasks", "algorithms"), name
        if inspect.isfunction(thing):
            signature = inspect.signature(thing)
            assert signature.return_annotation is not signature.empty, name
            assert all(p.annotation is not p.empty for p in signature.parameters.values()), name


def test_mypy(gymnasium):
    if not shutil.which("mypy"):
        pytest.skip("mypy is not installed")
    package = Path(ovde.__file__).resolve().parent
    configuration = Path(__file__).with_name("mypy.ini")
    command = ["mypy", f"--config-file={configuration}", "--ignore-missing-imports", "--cache-dir=/dev/null", str(package)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
