/* SPDX-License-Identifier: MIT */
/* glue.c: functions of the interpreter that only pass a call on. */
#include "aggregate/glue.h"

#include <stddef.h>
#include <string.h>

/* A name that begins with one of these. From the stacks of 2.7 to 3.15 under calls of every kind. */
static const char *const prefixes[] = {
	"PyEval_",
	"_PyEval_",
	"PyObject_Call",
	"_PyObject_Call",
	"PyObject_Vectorcall",
	"_PyObject_Vectorcall",
	"_PyObject_FastCall",
	"_PyObject_MakeTpCall",
	"PyVectorcall_",
	"_PyVectorcall_",
	"_PyFunction_",
	"_PyMethodDef_",
	"_PyCFunction_",
	"PyCFunction_",
	"cfunction_",
	"cfunction_vectorcall_",
	"method_vectorcall",
	"_PyStack_",
	"object_vacall",
	"function_call",
	"instancemethod_call",
	"method_call",
	"fast_function",
	"call_function",
	"do_call",
	"ext_do_call",
	"slot_tp_call",
	"type_call",
	"type_vectorcall",
	"vectorcall_",
	"Py_RunMain",
	"Py_Main",
	"Py_BytesMain",
	"pymain_",
	"PyRun_",
	"_PyRun_",
	"pyrun_",
	"run_mod",
	"run_eval_code_obj",
	"run_pyc_file",
	"builtin_exec",
	"pythread_wrapper",
	"thread_run",
	"t_bootstrap",
	"gen_send_ex",
	"gen_iternext",
	"gen_close",
	"PyGen_",
	"_PyGen_",
	"_TAIL_CALL_",
	"Py_Initialize",
	"trampoline_",
	"py_trampoline_",
	"_Py_trampoline_",
	"function_code_fastcall",
	"_Py_UnixMain",
	"_PyMethodDescr_",
};

bool glue_is_one(const char *name)
{
	if (!name)
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}
