# Ceilings, prediction, remedies: pure functions of a point and a calibration.

noinst_LIBRARIES += libexplain.a
libexplain_a_SOURCES = \
    explain/binding.h explain/binding.c \
    explain/calibration.h explain/calibration.c \
    explain/calibration_json.h explain/calibration_json.c \
    explain/ceilings.h explain/ceilings.c \
    explain/predict.h explain/predict.c \
    explain/remedy.h explain/remedy.c \
    explain/words.h explain/words.c

if HAVE_CMOCKA
explain_tests = \
    tests/unit/explain/test_binding \
    tests/unit/explain/test_ceilings \
    tests/unit/explain/test_predict \
    tests/unit/explain/test_remedy \
    tests/unit/explain/test_shared_ceilings
check_PROGRAMS += $(explain_tests)
TESTS += $(explain_tests)
EXTRA_DIST += tests/unit/explain/h200.h

tests_unit_explain_test_binding_SOURCES = tests/unit/explain/test_binding.c
tests_unit_explain_test_binding_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_explain_test_binding_LDADD = libexplain.a libcommon.a $(CMOCKA_LIBS)

tests_unit_explain_test_ceilings_SOURCES = tests/unit/explain/test_ceilings.c
tests_unit_explain_test_ceilings_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_explain_test_ceilings_LDADD = libexplain.a libcommon.a $(CMOCKA_LIBS)

tests_unit_explain_test_predict_SOURCES = tests/unit/explain/test_predict.c orchestrator/explain/point.c
tests_unit_explain_test_predict_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_explain_test_predict_LDADD = libexplain.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)

tests_unit_explain_test_remedy_SOURCES = tests/unit/explain/test_remedy.c
tests_unit_explain_test_remedy_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_explain_test_remedy_LDADD = libexplain.a libcommon.a $(CMOCKA_LIBS)

tests_unit_explain_test_shared_ceilings_SOURCES = tests/unit/explain/test_shared_ceilings.c
tests_unit_explain_test_shared_ceilings_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_explain_test_shared_ceilings_LDADD = libexplain.a libcommon.a $(JANSSON_LIBS) $(CMOCKA_LIBS)
endif
