/* SPDX-License-Identifier: MIT */
/* decode_x86_64.c: measured function bodies of x86-64 interpreters. */
#include "arch/decode.h"

#include <string.h>

/* How a reference is written in an instruction. Every field is little-endian. */
enum encoding {
	RIP32,  /* signed 32 bits, from the end of the instruction */
	DISP32, /* signed 32 bits, from a register that holds the structure or thread pointer */
	DISP8,  /* signed 8 bits, the same */
	ABS32,  /* unsigned 32 bits, an address (position-dependent executables) */
};

enum role {
	END = 0,
	VADDR,  /* of what the shape's kind says */
	OFFSET, /* what the shape's kind says */
};

struct reference {
	enum role role;
	enum encoding encoding;
	uint8_t at;    /* first byte of the field */
	uint8_t end;   /* of its instruction */
	int8_t adjust; /* the field names this many bytes past the thing itself */
};

struct shape {
	const char *name;
	const char *bytes; /* hexadecimal; ".." is filled in by linking or is a reference */
	int kind;          /* of the function's result */
	struct reference references[4];
};

/* clang-format off */

/*
 * PyGILState_GetThisThreadState. Measured builds: fixtures/keys/README. Up to 3.11 the body tests autoInterpreterState, which
 * stands 8 bytes before the Py_tss_t, from 3.13 on the Py_tss_t's is_initialized; the key is 4 bytes into the Py_tss_t.
 */
static const struct shape key_shapes[] = {
	/* 2.7, 3.6 libraries: cmpq $0,interp(%rip); je; mov key(%rip),%edi; jmp */
	{ "int-27", "48833d........00 740e 8b3d........ e9........ 0f1f00 31c0 c3", KEY_REF_INT,
	  { { VADDR, RIP32, 12, 16, 0 } } },
	/* 3.7–3.11 libraries: mov GOT,%rax; cmpq $0,interp(%rax); je; lea key(%rax),%rdi; jmp */
	{ "got-35", "488b05........ 4883b8........00 740f 488db8........ e9........ 0f1f00 31c0 c3", KEY_REF_RUNTIME,
	  { { VADDR, RIP32, 3, 7, 0 }, { OFFSET, DISP32, 10, 15, -8 }, { OFFSET, DISP32, 20, 24, 0 } } },
	/* 3.12, 3.13 libraries: mov GOT,%rax; push; lea key(%rax),%rbx; mov; call; test; je; mov; pop; jmp */
	{ "got-44", "488b05........ 53 488d98........ 4889df e8........ 85c0 740d 4889df 5b e9........ 0f1f4000 31c0 5b c3", KEY_REF_RUNTIME,
	  { { VADDR, RIP32, 3, 7, 0 }, { OFFSET, DISP32, 11, 15, 0 } } },
	/* 3.13, 3.14 libraries: the same behind endbr64 */
	{ "got-52", "f30f1efa 488b05........ 53 488d98........ 4889df e8........ 85c0 7411 4889df 5b e9........ 0f1f840000000000 31c0 5b c3", KEY_REF_RUNTIME,
	  { { VADDR, RIP32, 7, 11, 0 }, { OFFSET, DISP32, 15, 19, 0 } } },
	/* The first two as a program that links libpython.a has them: the GOT load relaxed to the address (x86-64 psABI, B.2) */
	{ "lea-35", "488d05........ 4883b8........00 740f 488db8........ e9........ 0f1f00 31c0 c3", KEY_REF_TSS,
	  { { VADDR, RIP32, 3, 7, 0 }, { OFFSET, DISP32, 10, 15, -8 }, { OFFSET, DISP32, 20, 24, 0 } } },
	{ "imm-35", "48c7c0........ 4883b8........00 740f 488db8........ e9........ 0f1f00 31c0 c3", KEY_REF_TSS,
	  { { VADDR, ABS32, 3, 7, 0 }, { OFFSET, DISP32, 10, 15, -8 }, { OFFSET, DISP32, 20, 24, 0 } } },
	{ "lea-44", "488d05........ 53 488d98........ 4889df e8........ 85c0 740d 4889df 5b e9........ 0f1f4000 31c0 5b c3", KEY_REF_TSS,
	  { { VADDR, RIP32, 3, 7, 0 }, { OFFSET, DISP32, 11, 15, 0 } } },
	{ "imm-44", "48c7c0........ 53 488d98........ 4889df e8........ 85c0 740d 4889df 5b e9........ 0f1f4000 31c0 5b c3", KEY_REF_TSS,
	  { { VADDR, ABS32, 3, 7, 0 }, { OFFSET, DISP32, 11, 15, 0 } } },
	/* 3.11 executable: cmpq $0,interp(%rip); je; mov key+4(%rip),%edi; jmp */
	{ "rip-24", "48833d........00 740b 8b3d........ e9........ 31c0 c3", KEY_REF_TSS,
	  { { VADDR, RIP32, 3, 8, -8 }, { VADDR, RIP32, 12, 16, 4 } } },
	/* 3.9 executable: the same with a far je */
	{ "rip-25", "48833d........00 0f84........ 8b3d........ e9........", KEY_REF_TSS,
	  { { VADDR, RIP32, 3, 8, -8 }, { VADDR, RIP32, 16, 20, 4 } } },
	/* 3.11 static library: cmpq $0,interp(%rip); je far; mov $key,%edi; jmp */
	{ "abs-24", "48833d........00 0f84........ bf........ e9........", KEY_REF_TSS,
	  { { VADDR, RIP32, 3, 8, -8 }, { VADDR, ABS32, 15, 19, 0 } } },
	/* 3.13 executable: endbr64; cmpl $0,key(%rip); je far; mov key+4(%rip),%edi; jmp */
	{ "rip-28", "f30f1efa 833d........00 0f84........ 8b3d........ e9........", KEY_REF_TSS,
	  { { VADDR, RIP32, 6, 11, 0 }, { VADDR, RIP32, 19, 23, 4 } } },
	/* 3.14 executable: endbr64; cmpl $0,key(%rip); je; mov $key,%edi; jmp */
	{ "abs-26", "f30f1efa 833d........00 740a bf........ e9........ 31c0 c3", KEY_REF_TSS,
	  { { VADDR, RIP32, 6, 11, 0 }, { VADDR, ABS32, 14, 18, 0 } } },
	/* 3.13 static library: endbr64; sub; mov $key,%edi; call; test; je far; mov $key,%edi; add; jmp */
	{ "abs-40", "f30f1efa 4883ec08 bf........ e8........ 85c0 0f84........ bf........ 4883c408 e9........", KEY_REF_TSS,
	  { { VADDR, ABS32, 9, 13, 0 }, { VADDR, ABS32, 27, 31, 0 } } },
	/* 3.14 static library: endbr64; push; mov $key,%edi; call; test; je; mov $key,%edi; pop; jmp */
	{ "abs-34", "f30f1efa 56 bf........ e8........ 85c0 740b bf........ 59 e9........ 31c0 5a c3", KEY_REF_TSS,
	  { { VADDR, ABS32, 6, 10, 0 }, { VADDR, ABS32, 20, 24, 0 } } },
	/* 3.15 executable and static library: endbr64; mov %fs:offset,%rax; ret */
	{ "tls-14", "f30f1efa 64488b0425........ c3", KEY_REF_TLS_LOCAL,
	  { { OFFSET, DISP32, 9, 13, 0 } } },
	/* 3.15 library: endbr64; push; mov; lea pair(%rip),%rdi; call __tls_get_addr; pop; mov offset(%rax),%rax; ret */
	{ "tls-29", "f30f1efa 55 4889e5 488d3d........ e8........ 5d 488b80........ c3", KEY_REF_TLS_DTV,
	  { { VADDR, RIP32, 11, 15, 0 }, { OFFSET, DISP32, 24, 28, 0 } } },
};

enum { HEAD_VADDR, HEAD_RUNTIME };

/* PyInterpreterState_Head. */
static const struct shape head_shapes[] = {
	/* 2.7, 3.6 libraries, 3.9 and 3.11 executables: mov head(%rip),%rax; ret */
	{ "head-8", "488b05........ c3", HEAD_VADDR,
	  { { VADDR, RIP32, 3, 7, 0 } } },
	/* 3.13–3.15 executables */
	{ "head-12-endbr", "f30f1efa 488b05........ c3", HEAD_VADDR,
	  { { VADDR, RIP32, 7, 11, 0 } } },
	/* 3.7–3.12 libraries: mov GOT,%rax; mov head(%rax),%rax; ret */
	{ "head-12", "488b05........ 488b40.. c3", HEAD_RUNTIME,
	  { { VADDR, RIP32, 3, 7, 0 }, { OFFSET, DISP8, 10, 11, 0 } } },
	/* The same with the GOT load relaxed: programs that link libpython.a */
	{ "head-lea-12", "488d05........ 488b40.. c3", HEAD_VADDR,
	  { { VADDR, RIP32, 3, 7, 0 }, { OFFSET, DISP8, 10, 11, 0 } } },
	{ "head-imm-12", "48c7c0........ 488b40.. c3", HEAD_VADDR,
	  { { VADDR, ABS32, 3, 7, 0 }, { OFFSET, DISP8, 10, 11, 0 } } },
	/* 3.13 library */
	{ "head-15", "488b05........ 488b80........ c3", HEAD_RUNTIME,
	  { { VADDR, RIP32, 3, 7, 0 }, { OFFSET, DISP32, 10, 14, 0 } } },
	/* 3.13–3.15 libraries */
	{ "head-19", "f30f1efa 488b05........ 488b80........ c3", HEAD_RUNTIME,
	  { { VADDR, RIP32, 7, 11, 0 }, { OFFSET, DISP32, 14, 18, 0 } } },
};

static const struct shape tail_call_shapes[] = {
	{ "jmp", "e9........", 0, { { 0 } } },
	{ "endbr64-jmp", "f30f1efa e9........", 0, { { 0 } } },
};

/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Structures of an interpreter that are referred to are smaller than this. */
#define OFFSET_MAX (1 << 20)

/* Py_tss_t and int. */
#define KEY_ALIGN     4
#define POINTER_ALIGN 8

static int hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* Every byte of the shape, and no byte more. */
static bool shape_matches(const struct shape *shape, const uint8_t *body, size_t size)
{
	size_t i = 0;
	for (const char *p = shape->bytes; *p; p++) {
		if (*p == ' ')
			continue;
		if (i == size)
			return false;
		if (*p != '.' && body[i] != (hex_digit(p[0]) << 4 | hex_digit(p[1])))
			return false;
		i++;
		p++;
	}
	return i == size;
}

static const struct shape *shape_find(const struct shape *shapes, size_t count, const uint8_t *body,
				      size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (shape_matches(&shapes[i], body, size))
			return &shapes[i];
	return NULL;
}

static int32_t read_i32(const uint8_t *p)
{
	return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
			 (uint32_t)p[3] << 24);
}

/* The one place that must understand every encoding: an unknown one is a broken table. */
static uint64_t reference_value(const struct reference *reference, const uint8_t *body,
				uint64_t body_vaddr)
{
	const uint8_t *field = body + reference->at;
	uint64_t value;
	switch (reference->encoding) {
	case RIP32:
		value = body_vaddr + reference->end + (uint64_t)(int64_t)read_i32(field);
		break;
	case DISP32:
		value = (uint64_t)(int64_t)read_i32(field);
		break;
	case DISP8:
		value = (uint64_t)(int64_t)(int8_t)*field;
		break;
	case ABS32:
		value = (uint32_t)read_i32(field);
		break;
	default:
		__builtin_trap();
	}
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

static struct error *no_shape(const char *function, const uint8_t *body, size_t size)
{
	uint8_t first[8] = { 0 };
	memcpy(first, body, size < sizeof(first) ? size : sizeof(first));
	return error_create(ERROR_UNSUPPORTED,
			    "x86-64 code of %s has no measured shape (%zu bytes, starting "
			    "%02x %02x %02x %02x %02x %02x %02x %02x)",
			    function, size, first[0], first[1], first[2], first[3], first[4],
			    first[5], first[6], first[7]);
}

static struct error *shape_decode(const struct shape *shapes, size_t count, const char *function,
				  const uint8_t *body, size_t size, uint64_t body_vaddr,
				  const struct shape **shape_ret, uint64_t *vaddr_ret,
				  int64_t *offset_ret)
{
	const struct shape *shape = shape_find(shapes, count, body, size);
	if (!shape)
		return no_shape(function, body, size);

	uint64_t offset;
	if (!shape_value(shape, VADDR, body, body_vaddr, vaddr_ret) ||
	    !shape_value(shape, OFFSET, body, body_vaddr, &offset))
		return error_create(ERROR_UNSUPPORTED,
				    "x86-64 code of %s (shape %s) refers to two different things",
				    function, shape->name);
	*offset_ret = (int64_t)offset;
	*shape_ret = shape;
	return NULL;
}

static bool is_field(int64_t offset, unsigned align)
{
	return offset >= 0 && offset < OFFSET_MAX && offset % align == 0;
}

/* A field at a known place has an address of its own. */
static void fold_offset(uint64_t *vaddr, int64_t *offset)
{
	*vaddr += (uint64_t)*offset;
	*offset = 0;
}

static bool key_ref_plausible(const struct key_ref *ref)
{
	switch (ref->kind) {
	case KEY_REF_RUNTIME:
		return ref->vaddr % POINTER_ALIGN == 0 && is_field(ref->offset, KEY_ALIGN);
	case KEY_REF_TSS:
	case KEY_REF_INT:
		return ref->vaddr % KEY_ALIGN == 0 && is_field(ref->offset, KEY_ALIGN);
	case KEY_REF_TLS_LOCAL: /* thread-locals are below the thread pointer */
		return ref->offset != 0 && is_field(-ref->offset, POINTER_ALIGN);
	case KEY_REF_TLS_DTV:
		return ref->vaddr % POINTER_ALIGN == 0 && is_field(ref->offset, POINTER_ALIGN);
	case KEY_REF_TLS_DESCRIPTOR: /* in no measured shape */
		return false;
	}
	return false;
}

struct error *decode_x86_64_key(const uint8_t *body, size_t size, uint64_t body_vaddr,
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
				    "x86-64 code of %s (shape %s) refers to an impossible place",
				    function, shape->name);
	if (ref.kind == KEY_REF_TSS)
		fold_offset(&ref.vaddr, &ref.offset);
	*ref_ret = ref;
	return NULL;
}

struct error *decode_x86_64_interp_head(const uint8_t *body, size_t size, uint64_t body_vaddr,
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

	if (vaddr % POINTER_ALIGN != 0 || !is_field(offset, POINTER_ALIGN))
		return error_create(ERROR_UNSUPPORTED,
				    "x86-64 code of %s (shape %s) refers to an impossible place",
				    function, shape->name);
	if (shape->kind == HEAD_VADDR)
		fold_offset(&vaddr, &offset);
	*ref_ret = (struct head_ref){ .in_runtime = shape->kind == HEAD_RUNTIME,
				      .shape = shape->name,
				      .vaddr = vaddr,
				      .offset = (uint32_t)offset };
	return NULL;
}

bool decode_x86_64_is_tail_call(const uint8_t *body, size_t size)
{
	return shape_find(tail_call_shapes, COUNT(tail_call_shapes), body, size) != NULL;
}

const struct decoder decoder_x86_64 = {
	.decode_key = decode_x86_64_key,
	.decode_interp_head = decode_x86_64_interp_head,
	.is_tail_call = decode_x86_64_is_tail_call,
};
