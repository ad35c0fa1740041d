/* SPDX-License-Identifier: MIT */
/*
 * decode.h: what machine code refers to, read from the few function bodies whose shape was
 * measured.
 *
 * A stripped interpreter still exports PyGILState_GetThisThreadState. Its body names the pthread
 * key (up to 3.14) or the thread-local (3.15 on) that holds a thread's PyThreadState. A body is
 * matched whole against a table of measured shapes, every byte but those that linking fills in; one
 * that matches none is refused with ERROR_UNSUPPORTED, never read approximately. Pure: no system
 * calls, any host. Addresses are the file's ("vaddr").
 *
 * A new shape: cut a fixture (fixtures/keys/README), add its row, and check that the offset in
 * _PyRuntime is the one that other builds of that CPython version give. A new CPU: a decode_CPU.c
 * with the same functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Longest body that any shape has; a longer one need not be read. */
#define DECODE_BODY_MAX 128

enum key_ref_kind {
	KEY_REF_RUNTIME,   /* vaddr: a GOT slot; the Py_tss_t is at offset in what it points to */
	KEY_REF_TSS,       /* vaddr: the Py_tss_t */
	KEY_REF_INT,       /* vaddr: a plain int key */
	KEY_REF_TLS_LOCAL, /* no key: a thread-local at thread pointer + offset */
	KEY_REF_TLS_DTV,   /* no key: a thread-local; vaddr: its module's pair {number, base} in the
			    * GOT; it is at base + offset in the module's block */
	/*
	 * No key: a thread-local; vaddr: its TLS descriptor in the GOT, {resolver, argument}, of
	 * which decoder.tls_resolver says what they mean; offset is added.
	 */
	KEY_REF_TLS_DESCRIPTOR,
};

struct key_ref {
	enum key_ref_kind kind;
	const char *shape; /* name of the table's row */
	uint64_t vaddr;    /* as the kind says; 0 for KEY_REF_TLS_LOCAL */
	int64_t offset;    /* as the kind says; 0 for KEY_REF_TSS and KEY_REF_INT */
};

/* Where PyInterpreterState_Head reads the first interpreter's address. */
struct head_ref {
	bool in_runtime;   /* vaddr: a GOT slot, offset in what it points to; else vaddr itself */
	const char *shape; /* name of the table's row */
	uint64_t vaddr;
	uint32_t offset;
};

/*
 * The reference in @body, all @size bytes of PyGILState_GetThisThreadState at @body_vaddr. Where a
 * shape names the key twice, both must agree: ERROR_UNSUPPORTED as well.
 */
struct error *decode_x86_64_key(const uint8_t *body, size_t size, uint64_t body_vaddr,
				struct key_ref *ref_ret);
/* The same for PyInterpreterState_Head. */
struct error *decode_x86_64_interp_head(const uint8_t *body, size_t size, uint64_t body_vaddr,
					struct head_ref *ref_ret);
/*
 * True if @body is nothing but a jump to another function. In 3.6 PyThread_get_key_value is one, to
 * pthread_getspecific; in 2.7 it searches a list of the interpreter's own, and a key is then none
 * of pthread's.
 */
bool decode_x86_64_is_tail_call(const uint8_t *body, size_t size);

/*
 * The same for aarch64. A body whose references depend on where it is is refused without an address
 * (@body_vaddr 0). No int key was measured there (2.7, 3.6).
 */
struct error *decode_aarch64_key(const uint8_t *body, size_t size, uint64_t body_vaddr,
				 struct key_ref *ref_ret);
struct error *decode_aarch64_interp_head(const uint8_t *body, size_t size, uint64_t body_vaddr,
					 struct head_ref *ref_ret);
bool decode_aarch64_is_tail_call(const uint8_t *body, size_t size);

/* What a C library's resolver does with the argument of its TLS descriptor. */
enum tls_resolver {
	TLS_RESOLVER_UNKNOWN,
	TLS_RESOLVER_STATIC,  /* the argument is the distance from the thread pointer */
	TLS_RESOLVER_DYNAMIC, /* it points to {module number, offset in the module's block} */
};

/* Room for the start of a resolver that decode_aarch64_tls_resolver needs. */
#define DECODE_RESOLVER_SIZE 56

/* @code: the first @size bytes of a resolver, of which all or as many as there are are looked at. */
enum tls_resolver decode_aarch64_tls_resolver(const uint8_t *code, size_t size);

/* The decoders of one CPU. */
struct decoder {
	struct error *(*decode_key)(const uint8_t *body, size_t size, uint64_t body_vaddr,
				    struct key_ref *ref_ret);
	struct error *(*decode_interp_head)(const uint8_t *body, size_t size, uint64_t body_vaddr,
					    struct head_ref *ref_ret);
	bool (*is_tail_call)(const uint8_t *body, size_t size);
	/* NULL where no measured shape has a TLS descriptor. */
	enum tls_resolver (*tls_resolver)(const uint8_t *code, size_t size);
};

extern const struct decoder decoder_x86_64;
extern const struct decoder decoder_aarch64;

/* The decoders for an ELF file's e_machine; NULL where no code was measured. */
const struct decoder *decoder_by_machine(uint16_t machine);
