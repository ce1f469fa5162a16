# CPUs and memory nodes of workers.
noinst_LIBRARIES += orchestrator/bind/libbind.a
orchestrator_bind_libbind_a_SOURCES = \
    orchestrator/bind/assign.c orchestrator/bind/bind.c orchestrator/bind/bind.h \
    orchestrator/bind/divide.c orchestrator/bind/internal.h orchestrator/bind/nodes.c orchestrator/bind/order.c \
    orchestrator/bind/quota.c orchestrator/bind/text.c

unit_tests += \
    tests/unit/bind/test_bind tests/unit/bind/test_bind_gpus tests/unit/bind/test_bind_quota \
    tests/unit/bind/test_bind_table
tests_unit_bind_test_bind_gpus_SOURCES = tests/unit/bind/test_bind_gpus.c tests/unit/bind/bind_rig.c tests/unit/bind/bind_rig.h
tests_unit_bind_test_bind_quota_SOURCES = tests/unit/bind/test_bind_quota.c tests/unit/tree.c tests/unit/tree.h
tests_unit_bind_test_bind_table_SOURCES = tests/unit/bind/test_bind_table.c tests/unit/bind/bind_rig.c tests/unit/bind/bind_rig.h

EXTRA_DIST += \
    tests/data/topology-one-core.xml \
    tests/data/topology-two-packages.xml \
    tests/data/topologies/README.md tests/data/topologies/aws-p5.xml \
    tests/data/topologies/aws-p5en.xml tests/data/topologies/dgx-2.xml \
    tests/data/topologies/dgx-a100.xml tests/data/topologies/dgx-h100-snc4.xml \
    tests/data/topologies/dgx-h100.xml tests/data/topologies/epyc-nps4.xml \
    tests/data/topologies/g4dn-metal.xml tests/data/topologies/grace.xml \
    tests/data/topologies/make.py tests/data/topologies/one-socket.xml \
    tests/data/topologies/p100-node.xml tests/data/topologies/power9.xml \
    tests/data/topologies/reduce.py tests/data/topologies/smt-off.xml \
    tests/data/topologies/vm.xml
