/* SPDX-License-Identifier: MIT */
/* Which functions of an interpreter only pass a call on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "aggregate/glue.h"

static void test_what_passes_a_call_on(void **state)
{
	static const char *const names[] = {
		"Py_RunMain",
		"Py_BytesMain",
		"pymain_run_python",
		"run_eval_code_obj",
		"_PyEval_EvalFrameDefault",
		"_PyEval_Vector",
		"PyEval_EvalCode",
		"_PyFunction_Vectorcall",
		"PyObject_Vectorcall",
		"_PyObject_FastCallDictTstate",
		"_PyObject_MakeTpCall",
		"PyVectorcall_Call",
		"method_vectorcall",
		"object_vacall",
		"cfunction_vectorcall_FASTCALL_KEYWORDS",
		"function_code_fastcall",
		"fast_function",
		"slot_tp_call",
		"type_call",
		"gen_send_ex2",
		"gen_iternext",
		"thread_run",
		"t_bootstrap",
		"pythread_wrapper",
		"py_trampoline_evaluator",
		"_Py_UnixMain",
		"_PyMethodDescr_FastCallKeywords",
		"_PyEval_EvalFrameDefault.cold",
		"_PyFunction_Vectorcall.lto_priv.0",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!glue_is_one(names[i]))
			fail_msg("%s is not known", names[i]);
}

static void test_what_does_work(void **state)
{
	static const char *const names[] = {
		"builtin_sorted",
		"list_sort_impl",
		"functools_reduce",
		"PyLong_FromLong",
		"_PyObject_Malloc",
		"_PyObject_Free",
		"PyObject_GetAttr",
		"PyObject_RichCompare",
		"dict_merge",
		"pattern_subx",
		"_ctypes_callproc",
		"subtype_dealloc",
		"PyNumber_Add",
		"PyUnicode_Join",
		"_PyLong_Add",
		"slot_tp_finalize",
		"type_new",
		"gc_collect_main",
		"take_gil",
		"main",
		"",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (glue_is_one(names[i]))
			fail_msg("%s is taken for glue", names[i]);
	assert_false(glue_is_one(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_passes_a_call_on),
		cmocka_unit_test(test_what_does_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
