#!/usr/bin/env python3
"""Writes the topologies beside it, as hwloc's XML: python3 make.py [NAME...]

Each has what a binding needs of a machine of that kind and nothing else: packages, NUMA nodes, cores, hardware threads
with the numbers that Linux gives them, and GPUs below the part of the machine that the firmware says they are near.
Caches, other devices and distances are left out. `hwloc-info -i FILE --whole-io` shows one.
"""
import os
import sys

GIB = 1 << 30


def numbers(base, count):
    return list(range(base, base + count))


def text_of(members):
    """A set as hwloc writes it: 32 bits a word, the highest first."""
    words = [0] * (max(members) // 32 + 1)
    for member in members:
        words[member // 32] |= 1 << (member % 32)
    return ",".join(f"0x{word:x}" for word in reversed(words))


class Machine:
    """The lines of a machine, from the outside in."""

    def __init__(self):
        self.lines, self.index = [], 0

    def emit(self, depth, kind, attributes, children=None):
        self.index += 1
        start = f'{" " * depth}<object type="{kind}" gp_index="{self.index}" {attributes}'
        self.lines.append(start + (">" if children else "/>"))
        if children:
            for child in children:
                child(depth + 1)
            self.lines.append(f'{" " * depth}</object>')

    @staticmethod
    def sets(cpus, nodes):
        return " ".join(f'{prefix}{name}="{text_of(members)}"' for prefix in ("", "complete_")
                        for name, members in (("cpuset", cpus), ("nodeset", nodes)))


def build(packages, gpus, cpus_of, extra_nodes=(), nowhere=()):
    """packages: of each, its (node, cores); a single node is the package's own. cpus_of: the hardware threads of core n.
    gpus: (address, device, node that it is near). extra_nodes: memory alone, (number, package, subtype, bytes).
    nowhere: (address, device) of GPUs below the whole machine."""
    machine = Machine()
    emit, sets = machine.emit, machine.sets
    extra_of = {}
    for number, package, subtype, size in extra_nodes:
        extra_of.setdefault(package, []).append((number, subtype, size))

    def gpu(address, device):
        domain, bus = address.split(":")[0], address.split(":")[1]
        return lambda depth: emit(
            depth, "Bridge", f'bridge_type="0-1" depth="0" bridge_pci="{domain}:[{bus}-{bus}]"',
            [lambda d: emit(d, "PCIDev", f'name="GPU" pci_busid="{address}" pci_type="0302 [10de:{device}] '
                                         f'[10de:0000] a1" pci_link_speed="0"')])

    def core(number, cpus, nodes):
        return lambda depth: emit(depth, "Core", f'os_index="{number}" {sets(cpus, nodes)}',
                                  [lambda d, c=c: emit(d, "PU", f'os_index="{c}" {sets([c], nodes)}') for c in cpus])

    def memory(number, cpus, size, subtype=None):
        name = f' subtype="{subtype}"' if subtype else ""
        return lambda depth: emit(depth, "NUMANode",
                                  f'os_index="{number}"{name} {sets(cpus, [number])} local_memory="{size}"')

    children, every_cpu, every_node = [], [], []
    for p, parts in enumerate(packages):
        package_cpus = sorted(c for _, cores in parts for core_ in cores for c in cpus_of(core_))
        package_nodes = sorted([n for n, _ in parts] + [n for n, _, _ in extra_of.get(p, ())])
        every_cpu += package_cpus
        every_node += package_nodes
        inside = [memory(n, package_cpus, size, subtype) for n, subtype, size in extra_of.get(p, ())]
        for node, cores in parts:
            cpus = sorted(c for core_ in cores for c in cpus_of(core_))
            nodes = [node] if len(parts) > 1 else package_nodes
            content = [core(c, cpus_of(c), nodes) for c in cores]
            devices = [gpu(a, d) for a, d, where in gpus if where == node]
            if len(parts) == 1:
                inside = [memory(node, cpus, 256 * GIB)] + inside + content + devices
            else:
                group = [memory(node, cpus, 64 * GIB)] + content + devices
                inside.append(lambda depth, g=group, c=cpus, n=node: emit(
                    depth, "Group", f'{sets(c, [n])} kind="1001" subkind="0"', g))
        children.append(lambda depth, i=inside, p=p, c=package_cpus, n=package_nodes: emit(
            depth, "Package", f'os_index="{p}" {sets(c, n)}', i))
    children += [gpu(address, device) for address, device in nowhere]
    every = " ".join(f'allowed_{name}="{text_of(members)}"'
                     for name, members in (("cpuset", every_cpu), ("nodeset", every_node)))
    emit(1, "Machine", f'os_index="0" {sets(sorted(every_cpu), sorted(every_node))} {every}', children)
    return ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
            '<topology version="2.0">'] + machine.lines + ["</topology>"]


def siblings(cores):
    """Linux numbers the first thread of every core, then the second."""
    return lambda core: [core, core + cores]


def single(core):
    return [core]


H100, A100, GB200, L40S = "2330", "20b2", "2941", "26b9"

MACHINES = {
    # Two Xeons of 56 cores, one NUMA node each; four GPUs on PCI switches of each.
    "dgx-h100": lambda: build(
        [[(0, numbers(0, 56))], [(1, numbers(56, 56))]],
        [(f"0000:{bus}:00.0", H100, n // 4)
         for n, bus in enumerate("1b 43 52 61 9d c3 d1 df".split())], siblings(112)),
    # The same with sub-NUMA clustering: four nodes a package, a GPU near each.
    "dgx-h100-snc4": lambda: build(
        [[(4 * p + n, numbers(56 * p + 14 * n, 14)) for n in range(4)] for p in range(2)],
        [(f"0000:{bus}:00.0", H100, n)
         for n, bus in enumerate("1b 43 52 61 9d c3 d1 df".split())], siblings(112)),
    # Two EPYCs of 64 cores, NPS4: two GPUs near every other node, none near the rest.
    "dgx-a100": lambda: build(
        [[(4 * p + n, numbers(64 * p + 16 * n, 16)) for n in range(4)] for p in range(2)],
        [(f"0000:{bus}:00.0", A100, node) for bus, node in
         zip("07 0f 47 4e 87 90 b7 bd".split(), [3, 3, 1, 1, 7, 7, 5, 5])], siblings(128)),
    # One EPYC of 64 cores, NPS4: four GPUs, numbered against the order of the nodes.
    "epyc-nps4": lambda: build(
        [[(n, numbers(16 * n, 16)) for n in range(4)]],
        [(f"0000:{bus}:00.0", A100, node) for bus, node in zip("03 41 82 c1".split(), [3, 2, 1, 0])],
        siblings(64)),
    # One package and node of 32 cores, all four GPUs near it.
    "one-socket": lambda: build(
        [[(0, numbers(0, 32))]],
        [(f"0000:{bus}:00.0", L40S, 0) for bus in "01 2b 41 61".split()], siblings(32)),
    # Two packages of 16 cores, hyper-threading off, a GPU each; even CPUs are in package 0, as on many servers.
    "smt-off": lambda: build(
        [[(0, list(range(0, 32, 2)))], [(1, list(range(1, 32, 2)))]],
        [("0000:17:00.0", L40S, 0), ("0000:ca:00.0", L40S, 1)], single),
    # Two Graces of 72 cores with two Blackwells each, whose memory is nodes without CPUs.
    "grace": lambda: build(
        [[(0, numbers(0, 72))], [(1, numbers(72, 72))]],
        [("0008:01:00.0", GB200, 0), ("0009:01:00.0", GB200, 0),
         ("0018:01:00.0", GB200, 1), ("0019:01:00.0", GB200, 1)], single,
        extra_nodes=[(2, 0, "GPUMemory", 184 * GIB), (10, 0, "GPUMemory", 184 * GIB),
                     (18, 1, "GPUMemory", 184 * GIB), (26, 1, "GPUMemory", 184 * GIB)]),
    # Two virtual packages and nodes; the hypervisor does not tell where the four GPUs are.
    "vm": lambda: build(
        [[(0, numbers(0, 8))], [(1, numbers(8, 8))]], [], lambda core: [2 * core, 2 * core + 1],
        nowhere=[(f"0000:00:{slot}.0", H100) for slot in ("05", "06", "07", "08")]),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or MACHINES:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".xml")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(MACHINES[name]()) + "\n")
