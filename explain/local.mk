# Ceilings, prediction, remedies: pure functions of a point and a calibration.
noinst_LIBRARIES += libexplain.a
libexplain_a_SOURCES = \
    explain/binding.c explain/binding.h explain/calibration.c explain/calibration.h \
    explain/calibration_json.c explain/calibration_json.h explain/ceilings.c explain/ceilings.h \
    explain/curve.c explain/curve.h explain/derive.c explain/derive.h explain/internal.h \
    explain/network.c explain/network.h explain/predict.c explain/predict.h \
    explain/remedy.c explain/remedy.h explain/remedy_words.c explain/steps.c explain/steps.h \
    explain/words.c explain/words.h

unit_tests += \
    tests/unit/explain/test_binding tests/unit/explain/test_calibration \
    tests/unit/explain/test_ceilings tests/unit/explain/test_curve \
    tests/unit/explain/test_pageable tests/unit/explain/test_predict \
    tests/unit/explain/test_remedy tests/unit/explain/test_shared_ceilings
explain_rig = tests/unit/explain/rig.c tests/unit/explain/rig.h
tests_unit_explain_test_curve_SOURCES = tests/unit/explain/test_curve.c $(explain_rig)
tests_unit_explain_test_pageable_SOURCES = tests/unit/explain/test_pageable.c $(explain_rig)
EXTRA_DIST += tests/unit/explain/h200.h tests/unit/explain/reason.h
