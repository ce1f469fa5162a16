"""Whether the fields of a manifest are those of Kubernetes' API, and of its types: prints what
is not. By the models of python3-kubernetes; those of Debian 12 are older than sidecars."""

import re
import sys

import yaml
from kubernetes.client import models

NEWER = {("V1Container", "restartPolicy")}
TYPES = {"str": str, "int": int, "bool": bool, "float": float, "datetime": str}


def check(value, kind, path):
    if kind.startswith("list["):
        for index, item in enumerate(value):
            check(item, kind[5:-1], f"{path}[{index}]")
    elif kind.startswith("dict("):
        # A quantity may be a number, too.
        inner = re.match(r"dict\(\w+, (.*)\)", kind).group(1)
        for name, item in value.items():
            check(str(item) if isinstance(item, int) and path.endswith(("limits", "requests")) else item,
                  inner, f"{path}.{name}")
    elif kind in TYPES:
        if type(value) is not TYPES[kind]:
            print(f"{path}: {value!r} is no {kind}")
    elif kind != "object":
        model = getattr(models, kind)
        names = {field: name for name, field in model.attribute_map.items()}
        for field, item in value.items():
            if field in names:
                check(item, model.openapi_types[names[field]], f"{path}.{field}")
            elif (kind, field) not in NEWER:
                print(f"{path}: {kind} has no field '{field}'")


for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        manifest = yaml.safe_load(file)
        check(manifest, f"V1{manifest['kind']}", name)
