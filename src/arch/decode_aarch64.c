/* SPDX-License-Identifier: MIT */
/* decode_aarch64.c: measured function bodies of aarch64 interpreters. */
#include "arch/decode.h"

#include <string.h>

/* What of an instruction is not pinned. */
enum form {
	WHOLE,  /* nothing */
	PAGE,   /* adrp: the page */
	IMM12,  /* add, ldr: the immediate */
	IMM12S, /* add: the immediate and whether it is shifted by 12 */
	IMM16,  /* movz, movk: the immediate */
	TARGET, /* b, bl: the target */
};

static const uint32_t pinned[] = {
	[WHOLE] = 0xffffffff,  [PAGE] = 0x9f00001f,  [IMM12] = 0xffc003ff,
	[IMM12S] = 0xff8003ff, [IMM16] = 0xffe0001f, [TARGET] = 0xfc000000,
};

struct word {
	uint32_t bits; /* 0: the end of the shape */
	enum form form;
};

/* clang-format off */
#define ADRP(rd)           { 0x90000000 | (rd), PAGE }
#define ADD(rd, rn)        { 0x91000000 | (rn) << 5 | (rd), IMM12 }
#define ADD_OFFSET(rd, rn) { 0x91000000 | (rn) << 5 | (rd), IMM12S }
#define ADD_HIGH(rd, rn)   { 0x91400000 | (rn) << 5 | (rd), IMM12 } /* immediate × 4096 */
#define ADD_X(rd, rn, rm)  { 0x8b000000 | (rm) << 16 | (rn) << 5 | (rd), WHOLE }
#define LDR_X(rt, rn)      { 0xf9400000 | (rn) << 5 | (rt), IMM12 }
#define LDR_W(rt, rn)      { 0xb9400000 | (rn) << 5 | (rt), IMM12 }
#define LDR_AT(rt, rn)     { 0xf9400000 | (rn) << 5 | (rt), WHOLE } /* ldr Xt, [Xn] */
#define MOVZ_HIGH(rd)      { 0xd2a00000 | (rd), IMM16 }             /* immediate << 16 */
#define MOVK(rd)           { 0xf2800000 | (rd), IMM16 }
#define CBZ_X(rt, words)   { 0xb4000000 | (words) << 5 | (rt), WHOLE }
#define CBZ_W(rt, words)   { 0x34000000 | (words) << 5 | (rt), WHOLE }
#define MRS_TP(rt)         { 0xd53bd040 | (rt), WHOLE } /* mrs Xt, tpidr_el0 */
#define BLR(rn)            { 0xd63f0000 | (rn) << 5, WHOLE }
#define B                  { 0x14000000, TARGET }
#define BL                 { 0x94000000, TARGET }
#define RET                { 0xd65f03c0, WHOLE }
#define NOP                { 0xd503201f, WHOLE }
#define BTI_C              { 0xd503245f, WHOLE }
#define PACIASP            { 0xd503233f, WHOLE }
#define AUTIASP            { 0xd50323bf, WHOLE }
#define ZERO_X0            { 0xd2800000, WHOLE } /* mov x0, #0 */
#define MOV_FP             { 0x910003fd, WHOLE } /* mov x29, sp */
#define PUSH_16            { 0xa9bf7bfd, WHOLE } /* stp x29, x30, [sp, #-16]! */
#define POP_16             { 0xa8c17bfd, WHOLE } /* ldp x29, x30, [sp], #16 */
#define PUSH_32            { 0xa9be7bfd, WHOLE } /* stp x29, x30, [sp, #-32]! */
#define POP_32             { 0xa8c27bfd, WHOLE } /* ldp x29, x30, [sp], #32 */
#define SAVE_X19           { 0xf9000bf3, WHOLE } /* str x19, [sp, #16] */
#define LOAD_X19           { 0xf9400bf3, WHOLE } /* ldr x19, [sp, #16] */
#define WORD(bits)         { bits, WHOLE }
/* clang-format on */

enum role {
	END = 0,
	VADDR,  /* of what the shape's kind says */
	OFFSET, /* what the shape's kind says */
};

/* A reference is the sum of what some instructions of the body contribute (operand). */
#define N(number) (1u << (number))

struct reference {
	enum role role;
	uint32_t words; /* N(number) of each instruction that contributes */
	int8_t adjust;  /* the sum names this many bytes past the thing itself */
};

#define WORDS_MAX 19

struct shape {
	const char *name;
	int kind; /* of the function's result */
	struct word words[WORDS_MAX + 1];
	struct reference references[4];
};

/* clang-format off */

/*
 * PyGILState_GetThisThreadState. Measured builds: fixtures/keys/README. Up to 3.11 the body tests autoInterpreterState, which
 * stands 8 bytes before the Py_tss_t, from 3.13 on the Py_tss_t's is_initialized; the key is 4 bytes into the Py_tss_t.
 */
static const struct shape key_shapes[] = {
	/* 3.9, 3.11 libraries: &_PyRuntime from the GOT */
	{ "got-8", KEY_REF_RUNTIME,
	  { ADRP(0), LDR_X(0, 0), LDR_X(1, 0), CBZ_X(1, 3), ADD_OFFSET(0, 0), B, ZERO_X0, RET },
	  { { VADDR, N(0) | N(1), 0 }, { OFFSET, N(2), -8 }, { OFFSET, N(4), 0 } } },
	/* 3.12–3.14 libraries: the same around a call */
	{ "got-19", KEY_REF_RUNTIME,
	  { PACIASP, PUSH_32, MOV_FP, SAVE_X19, ADRP(19), LDR_X(19, 19), ADD_OFFSET(0, 19), BL, CBZ_W(0, 6), ADD_OFFSET(0, 19), LOAD_X19, POP_32,
	    AUTIASP, B, LOAD_X19, ZERO_X0, POP_32, AUTIASP, RET },
	  { { VADDR, N(4) | N(5), 0 }, { OFFSET, N(6), 0 }, { OFFSET, N(9), 0 } } },
	/* 3.9 executable: page and two additions, loads with an offset */
	{ "page-9", KEY_REF_TSS,
	  { ADRP(0), ADD(2, 0), ADD(3, 2), LDR_X(1, 2), CBZ_X(1, 3), LDR_W(0, 3), B, ZERO_X0, RET },
	  { { VADDR, N(0) | N(1) | N(3), -8 }, { VADDR, N(0) | N(1) | N(2) | N(5), 4 } } },
	/* 3.11 executable: page and addition, loads with an offset */
	{ "page-8", KEY_REF_TSS,
	  { ADRP(0), ADD(0, 0), LDR_X(1, 0), CBZ_X(1, 3), LDR_W(0, 0), B, ZERO_X0, RET },
	  { { VADDR, N(0) | N(1) | N(2), -8 }, { VADDR, N(0) | N(1) | N(4), 4 } } },
	/* 3.13 executable: the same behind bti c */
	{ "page-9-bti", KEY_REF_TSS,
	  { BTI_C, ADRP(0), ADD(0, 0), LDR_W(1, 0), CBZ_W(1, 3), LDR_W(0, 0), B, ZERO_X0, RET },
	  { { VADDR, N(1) | N(2) | N(3), 0 }, { VADDR, N(1) | N(2) | N(5), 4 } } },
	/* 3.12 executable, 3.13 and 3.14 static libraries: page and addition around a call */
	{ "page-18", KEY_REF_TSS,
	  { PACIASP, PUSH_32, MOV_FP, SAVE_X19, ADRP(19), ADD(0, 19), BL, CBZ_W(0, 6), ADD(0, 19), LOAD_X19, POP_32, AUTIASP, B, LOAD_X19,
	    ZERO_X0, POP_32, AUTIASP, RET },
	  { { VADDR, N(4) | N(5), 0 }, { VADDR, N(4) | N(8), 0 } } },
	/* 3.9 static library: the address folded into the load, then page and addition */
	{ "fold-8-x2", KEY_REF_TSS,
	  { ADRP(0), LDR_X(1, 0), CBZ_X(1, 4), ADRP(2), ADD(0, 2), B, ZERO_X0, RET },
	  { { VADDR, N(0) | N(1), -8 }, { VADDR, N(3) | N(4), 0 } } },
	/* 3.11 static library: the same by another register */
	{ "fold-8", KEY_REF_TSS,
	  { ADRP(0), LDR_X(0, 0), CBZ_X(0, 4), ADRP(0), ADD(0, 0), B, ZERO_X0, RET },
	  { { VADDR, N(0) | N(1), -8 }, { VADDR, N(3) | N(4), 0 } } },
	/* 3.14 executable: is_initialized, behind bti c */
	{ "fold-9-bti", KEY_REF_TSS,
	  { BTI_C, ADRP(0), LDR_W(0, 0), CBZ_W(0, 4), ADRP(0), ADD(0, 0), B, ZERO_X0, RET },
	  { { VADDR, N(1) | N(2), 0 }, { VADDR, N(4) | N(5), 0 } } },
	/* 3.15 executable and static library: local-exec, the last load with the offset in a struct */
	{ "tls-11", KEY_REF_TLS_LOCAL,
	  { BTI_C, MRS_TP(0), PACIASP, PUSH_16, ADD_HIGH(0, 0), ADD(0, 0), MOV_FP, POP_16, AUTIASP, LDR_X(0, 0), RET },
	  { { OFFSET, N(4) | N(5) | N(9), 0 } } },
	/* 3.15 static library made for PIE: a descriptor that the linker replaced by the distance */
	{ "tls-13", KEY_REF_TLS_LOCAL,
	  { PACIASP, PUSH_16, MRS_TP(1), MOV_FP, MOVZ_HIGH(0), MOVK(0), NOP, NOP, ADD_X(1, 1, 0), POP_16, AUTIASP, LDR_X(0, 1), RET },
	  { { OFFSET, N(4) | N(5) | N(11), 0 } } },
	/* 3.15 library: x0 = &descriptor, x2 = its resolver, blr x2, x0 = distance, ldr x0, [x1, x0] */
	{ "tlsdesc-12", KEY_REF_TLS_DESCRIPTOR,
	  { PACIASP, MRS_TP(1), PUSH_16, MOV_FP, ADRP(0), LDR_X(2, 0), ADD(0, 0), BLR(2), WORD(0xf8606820), POP_16, AUTIASP, RET },
	  { { VADDR, N(4) | N(5), 0 }, { VADDR, N(4) | N(6), 0 } } },
};

enum { HEAD_VADDR, HEAD_RUNTIME };

/* PyInterpreterState_Head. */
static const struct shape head_shapes[] = {
	/* 3.9, 3.11 executables and static libraries */
	{ "head-3", HEAD_VADDR,
	  { ADRP(0), LDR_X(0, 0), RET }, { { VADDR, N(0) | N(1), 0 } } },
	/* 3.13, 3.14 executables and static libraries */
	{ "head-4-bti", HEAD_VADDR,
	  { BTI_C, ADRP(0), LDR_X(0, 0), RET }, { { VADDR, N(1) | N(2), 0 } } },
	/* 3.15 executable and static library */
	{ "head-8", HEAD_VADDR,
	  { PACIASP, PUSH_16, ADRP(0), MOV_FP, POP_16, AUTIASP, LDR_X(0, 0), RET }, { { VADDR, N(2) | N(6), 0 } } },
	/* 3.9, 3.11 libraries: &_PyRuntime from the GOT */
	{ "head-4", HEAD_RUNTIME,
	  { ADRP(0), LDR_X(0, 0), LDR_X(0, 0), RET }, { { VADDR, N(0) | N(1), 0 }, { OFFSET, N(2), 0 } } },
	/* 3.13, 3.14 libraries */
	{ "head-5-bti", HEAD_RUNTIME,
	  { BTI_C, ADRP(0), LDR_X(0, 0), LDR_X(0, 0), RET }, { { VADDR, N(1) | N(2), 0 }, { OFFSET, N(3), 0 } } },
	/* 3.15 library */
	{ "head-10-bti", HEAD_RUNTIME,
	  { BTI_C, ADRP(0), LDR_X(0, 0), PACIASP, PUSH_16, MOV_FP, LDR_X(0, 0), POP_16, AUTIASP, RET },
	  { { VADDR, N(1) | N(2), 0 }, { OFFSET, N(6), 0 } } },
};

static const struct shape tail_call_shapes[] = {
	{ "b", 0, { B }, { { 0 } } },
	{ "bti-b", 0, { BTI_C, B }, { { 0 } } },
};

/*
 * The start of a descriptor's resolver, behind the hint that there may be. glibc 2.31 to 2.43, _dl_tlsdesc_return and
 * _dl_tlsdesc_dynamic; musl 1.2.3 to 1.2.6, __tlsdesc_static and __tlsdesc_dynamic.
 */
static const struct shape resolver_shapes[] = {
	/* ldr x0, [x0, #8]; ret */
	{ "static", TLS_RESOLVER_STATIC, { WORD(0xf9400400), RET }, { { 0 } } },
	/*
	 * stp x1, x2, [sp, #-32]!; stp x3, x4, [sp, #16]; mrs x4; ldr x1, [x0, #8]; ldr x0, [x4]; ldr x3, [x1, #16]; ldr x2, [x0];
	 * cmp x3, x2; b.hi; ldp x2, x3, [x1]; add x0, x0, x2, lsl #4; ldr x0, [x0]
	 */
	{ "dynamic", TLS_RESOLVER_DYNAMIC,
	  { WORD(0xa9be0be1), WORD(0xa90113e3), MRS_TP(4), WORD(0xf9400401), LDR_AT(0, 4), WORD(0xf9400823),
	    LDR_AT(2, 0), WORD(0xeb02007f), WORD(0x54000168), WORD(0xa9400c22), WORD(0x8b021000), LDR_AT(0, 0) },
	  { { 0 } } },
	/* The same where autiasp lengthens the branch. */
	{ "dynamic-pac", TLS_RESOLVER_DYNAMIC,
	  { WORD(0xa9be0be1), WORD(0xa90113e3), MRS_TP(4), WORD(0xf9400401), LDR_AT(0, 4), WORD(0xf9400823),
	    LDR_AT(2, 0), WORD(0xeb02007f), WORD(0x54000188), WORD(0xa9400c22), WORD(0x8b021000), LDR_AT(0, 0) },
	  { { 0 } } },
	/* stp x1, x2, [sp, #-16]!; mrs x1; ldr x0, [x0, #8]; ldp x0, x2, [x0]; sub x2, x2, x1; ldur x1, [x1, #-8]; ldr x1, [x1, x0, lsl #3] */
	{ "dynamic-musl", TLS_RESOLVER_DYNAMIC,
	  { WORD(0xa9bf0be1), MRS_TP(1), WORD(0xf9400400), WORD(0xa9400800), WORD(0xcb010042), WORD(0xf85f8021),
	    WORD(0xf8607821) },
	  { { 0 } } },
};

/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Structures of an interpreter that are referred to are smaller than this. */
#define OFFSET_MAX (1 << 20)

/* Files are not larger; an adrp may name a page below address 0. */
#define VADDR_MAX (UINT64_C(1) << 47)

/* Py_tss_t. */
#define KEY_ALIGN     4
#define POINTER_ALIGN 8

/* Variant I: two words of the C library's are at the thread pointer, thread-locals above. */
#define TCB_SIZE 16

static uint32_t read_word(const uint8_t *code, size_t number)
{
	const uint8_t *p = code + 4 * number;
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The shape's words at the start of @code; 0 if they are not. */
static size_t shape_matches(const struct shape *shape, const uint8_t *code, size_t words)
{
	size_t i = 0;
	for (; shape->words[i].bits; i++) {
		const struct word *word = &shape->words[i];
		if (i == words || ((read_word(code, i) ^ word->bits) & pinned[word->form]))
			return 0;
	}
	return i;
}

/* Every word of the body, and no word more. */
static const struct shape *shape_find(const struct shape *shapes, size_t count, const uint8_t *body,
				      size_t size)
{
	for (size_t i = 0; i < count && size % 4 == 0; i++)
		if (size && shape_matches(&shapes[i], body, size / 4) == size / 4)
			return &shapes[i];
	return NULL;
}

/* adrp: 21 signed bits of pages, from the page of the instruction itself. */
static uint64_t adrp_page(uint32_t word, uint64_t vaddr)
{
	uint32_t pages = (word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3);
	int64_t distance = (int64_t)((uint64_t)pages << 43) >> 31;
	return (vaddr & ~UINT64_C(0xfff)) + (uint64_t)distance;
}

/*
 * What an instruction contributes to a reference. The one place that must understand every
 * encoding: an unknown one is a broken table.
 */
static uint64_t operand(uint32_t word, uint64_t vaddr)
{
	uint64_t imm12 = word >> 10 & 0xfff;
	if ((word & 0x9f000000) == 0x90000000) /* adrp */
		return adrp_page(word, vaddr);
	if ((word & 0xff800000) == 0x91000000) /* add Xd, Xn, #imm12{, lsl #12} */
		return imm12 << (word >> 22 & 1 ? 12 : 0);
	if ((word & 0xffc00000) == 0xf9400000) /* ldr Xt, [Xn, #imm12 × 8] */
		return imm12 * 8;
	if ((word & 0xffc00000) == 0xb9400000) /* ldr Wt, [Xn, #imm12 × 4] */
		return imm12 * 4;
	if ((word & 0xffe00000) == 0xd2a00000) /* movz Xd, #imm16, lsl #16 */
		return (uint64_t)(word >> 5 & 0xffff) << 16;
	if ((word & 0xffe00000) == 0xf2800000) /* movk Xd, #imm16 */
		return word >> 5 & 0xffff;
	__builtin_trap();
}

static uint64_t reference_value(const struct reference *reference, const uint8_t *body,
				uint64_t body_vaddr)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < WORDS_MAX; i++)
		if (reference->words & N(i))
			value += operand(read_word(body, i), body_vaddr + 4 * i);
	return value - (uint64_t)(int64_t)reference->adjust;
}

/* What all references of @role agree on; 0 if there is none. */
static bool shape_value(const struct shape *shape, enum role role, const uint8_t *body,
			uint64_t body_vaddr, uint64_t *value_ret)
{
	uint64_t value = 0;
	bool found = false;
	for (const struct reference *r = shape->references; r->role != END; r++) {
		if (r->role != role)
			continue;
		uint64_t other = reference_value(r, body, body_vaddr);
		if (found && other != value)
			return false;
		value = other;
		found = true;
	}
	*value_ret = value;
	return true;
}

static bool depends_on_place(const struct shape *shape)
{
	for (const struct word *word = shape->words; word->bits; word++)
		if (word->form == PAGE)
			return true;
	return false;
}

static struct error *no_shape(const char *function, const uint8_t *body, size_t size)
{
	uint8_t first[8] = { 0 };
	memcpy(first, body, size < sizeof(first) ? size : sizeof(first));
	return error_create(ERROR_UNSUPPORTED,
			    "aarch64 code of %s has no measured shape (%zu bytes, starting "
			    "%08x %08x)",
			    function, size, read_word(first, 0), read_word(first, 1));
}

static struct error *shape_decode(const struct shape *shapes, size_t count, const char *function,
				  const uint8_t *body, size_t size, uint64_t body_vaddr,
				  const struct shape **shape_ret, uint64_t *vaddr_ret,
				  int64_t *offset_ret)
{
	const struct shape *shape = shape_find(shapes, count, body, size);
	if (!shape)
		return no_shape(function, body, size);
	if (depends_on_place(shape) && (body_vaddr == 0 || body_vaddr % 4 != 0))
		return error_create(ERROR_UNSUPPORTED,
				    "aarch64 code of %s (shape %s) means nothing without its "
				    "address",
				    function, shape->name);

	uint64_t offset;
	if (!shape_value(shape, VADDR, body, body_vaddr, vaddr_ret) ||
	    !shape_value(shape, OFFSET, body, body_vaddr, &offset))
		return error_create(ERROR_UNSUPPORTED,
				    "aarch64 code of %s (shape %s) refers to two different things",
				    function, shape->name);
	*offset_ret = (int64_t)offset;
	*shape_ret = shape;
	return NULL;
}

static bool is_vaddr(uint64_t vaddr, unsigned align)
{
	return vaddr < VADDR_MAX && vaddr % align == 0;
}

static bool is_field(int64_t offset, unsigned align)
{
	return offset >= 0 && offset < OFFSET_MAX && offset % align == 0;
}

static bool key_ref_plausible(const struct key_ref *ref)
{
	switch (ref->kind) {
	case KEY_REF_RUNTIME:
		return is_vaddr(ref->vaddr, POINTER_ALIGN) && is_field(ref->offset, KEY_ALIGN);
	case KEY_REF_TSS:
		return is_vaddr(ref->vaddr, KEY_ALIGN) && ref->offset == 0;
	case KEY_REF_TLS_LOCAL:
		return ref->offset >= TCB_SIZE && is_field(ref->offset, POINTER_ALIGN);
	case KEY_REF_TLS_DESCRIPTOR:
		return is_vaddr(ref->vaddr, POINTER_ALIGN) && ref->offset == 0;
	case KEY_REF_INT: /* in no measured shape */
	case KEY_REF_TLS_DTV:
		return false;
	}
	return false;
}

struct error *decode_aarch64_key(const uint8_t *body, size_t size, uint64_t body_vaddr,
				 struct key_ref *ref_ret)
{
	static const char function[] = "PyGILState_GetThisThreadState";
	const struct shape *shape;
	struct key_ref ref;
	struct error *err = shape_decode(key_shapes, COUNT(key_shapes), function, body, size,
					 body_vaddr, &shape, &ref.vaddr, &ref.offset);
	if (err)
		return err;

	ref.kind = shape->kind;
	ref.shape = shape->name;
	if (!key_ref_plausible(&ref))
		return error_create(ERROR_UNSUPPORTED,
				    "aarch64 code of %s (shape %s) refers to an impossible place",
				    function, shape->name);
	*ref_ret = ref;
	return NULL;
}

struct error *decode_aarch64_interp_head(const uint8_t *body, size_t size, uint64_t body_vaddr,
					 struct head_ref *ref_ret)
{
	static const char function[] = "PyInterpreterState_Head";
	const struct shape *shape;
	uint64_t vaddr;
	int64_t offset;
	struct error *err = shape_decode(head_shapes, COUNT(head_shapes), function, body, size,
					 body_vaddr, &shape, &vaddr, &offset);
	if (err)
		return err;

	if (!is_vaddr(vaddr, POINTER_ALIGN) || !is_field(offset, POINTER_ALIGN))
		return error_create(ERROR_UNSUPPORTED,
				    "aarch64 code of %s (shape %s) refers to an impossible place",
				    function, shape->name);
	*ref_ret = (struct head_ref){ .in_runtime = shape->kind == HEAD_RUNTIME,
				      .shape = shape->name,
				      .vaddr = vaddr,
				      .offset = (uint32_t)offset };
	return NULL;
}

bool decode_aarch64_is_tail_call(const uint8_t *body, size_t size)
{
	return shape_find(tail_call_shapes, COUNT(tail_call_shapes), body, size) != NULL;
}

/* What a resolver may begin with; older builds have a nop in the place of bti c. */
static bool is_entry_hint(uint32_t word)
{
	static const struct word hints[] = { BTI_C, PACIASP, NOP };
	for (size_t i = 0; i < COUNT(hints); i++)
		if (word == hints[i].bits)
			return true;
	return false;
}

enum tls_resolver decode_aarch64_tls_resolver(const uint8_t *code, size_t size)
{
	size_t words = size / 4;
	if (words && is_entry_hint(read_word(code, 0))) {
		code += 4;
		words--;
	}
	for (size_t i = 0; i < COUNT(resolver_shapes); i++)
		if (shape_matches(&resolver_shapes[i], code, words))
			return resolver_shapes[i].kind;
	return TLS_RESOLVER_UNKNOWN;
}

const struct decoder decoder_aarch64 = {
	.decode_key = decode_aarch64_key,
	.decode_interp_head = decode_aarch64_interp_head,
	.is_tail_call = decode_aarch64_is_tail_call,
	.tls_resolver = decode_aarch64_tls_resolver,
};
