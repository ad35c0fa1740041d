/* SPDX-License-Identifier: MIT */
/* insn_x86_64.c: x86-64 instructions. */
#include "arch/insn_x86_64.h"

#include "base/reader.h"

/* Intel SDM volume 2, §2.3.11 */
#define INSN_BYTES_MAX 15

/* What follows an opcode, and which operands may be written. */
enum {
	M = 1 << 0,   /* ModRM */
	B = 1 << 1,   /* immediate of 1 byte */
	Z = 1 << 2,   /* immediate of 4 bytes, or 2 with the operand-size prefix */
	Q = 1 << 3,   /* immediate of 8 bytes where the operands are wide, else as Z */
	G = 1 << 4,   /* writes the register operand */
	E = 1 << 5,   /* writes the register or memory operand */
	O = 1 << 6,   /* the register is part of the opcode */
	A = 1 << 7,   /* writes rax and rdx */
	S = 1 << 8,   /* writes rsi, rdi and rcx: string instructions */
	W = 1 << 9,   /* operands are wide without a prefix */
	X = 1 << 10,  /* refused */
	N = 1 << 11,  /* nothing of these: valid */
	Y = 1 << 12,  /* operands are bytes */
	J1 = 1 << 13, /* distance of 1 byte */
	J4 = 1 << 14, /* distance of 4 bytes */
};

/* One row of ALU operations: r/m8,r8; r/m,r; r8,r/m8; r,r/m; al,imm8; rax,imm; and two that are no more. */
#define ALU M | E | Y, M | E, M | G | Y, M | G, B | A, Z | A, X, X

static const uint16_t one_byte[256] = {
	[0x00] = ALU,
	[0x08] = ALU,
	[0x10] = ALU,
	[0x18] = ALU,
	[0x20] = ALU,
	[0x28] = ALU,
	[0x30] = ALU,
	[0x38] = M | Y,
	M,
	M | Y,
	M,
	B,
	Z,
	X,
	X,
	[0x40 ... 0x4f] = X, /* prefixes */
	[0x50 ... 0x5f] = O | W,
	[0x60 ... 0x62] = X,
	[0x63] = M | G,
	[0x64 ... 0x67] = X,
	[0x68] = Z | W,
	[0x69] = M | Z | G,
	[0x6a] = B | W,
	[0x6b] = M | B | G,
	[0x6c ... 0x6f] = X,
	[0x70 ... 0x7f] = J1,
	[0x80] = M | B | E | Y,
	M | Z | E,
	X,
	M | B | E,
	[0x84] = M | Y,
	M,
	M | E | G | Y,
	M | E | G,
	[0x88] = M | E | Y,
	M | E,
	M | G | Y,
	M | G,
	[0x8c] = X,
	M | G,
	X,
	X,
	[0x90 ... 0x97] = O | A,
	[0x98] = A,
	A,
	X,
	N,
	X,
	X,
	N,
	A,
	[0xa0 ... 0xa3] = X,
	[0xa4 ... 0xa7] = S,
	[0xa8] = B,
	Z,
	S,
	S,
	S | A,
	S | A,
	S,
	S,
	[0xb0 ... 0xb7] = O | B | Y,
	[0xb8 ... 0xbf] = O | Q,
	[0xc0] = M | B | E | Y,
	M | B | E,
	X,
	N,
	X,
	X,
	M | B | E | Y,
	M | Z | E,
	[0xc8] = X,
	W,
	X,
	X,
	X,
	X,
	X,
	X,
	[0xd0] = M | E | Y,
	M | E,
	M | E | Y,
	M | E,
	X,
	X,
	X,
	A,
	[0xd8 ... 0xde] = M,
	[0xdf] = M | A,
	[0xe0 ... 0xe2] = J1 | S,
	[0xe3] = J1,
	[0xe4 ... 0xe7] = X,
	[0xe8] = J4,
	J4,
	X,
	J1,
	[0xec ... 0xf4] = X,
	[0xf5] = N,
	[0xf6] = M | E | A | Y,
	M | E | A,
	[0xf8] = N,
	N,
	X,
	X,
	N,
	N,
	M | E | Y,
	M | E,
};

static uint16_t form_of_0f(uint8_t opcode, bool f3)
{
	switch (opcode) {
	case 0x0d:
	case 0x10 ... 0x1d: /* moves of vectors, prefetch, nop */
	case 0x1f:
	case 0x28 ... 0x2b:
	case 0x2e ... 0x2f:
	case 0x51 ... 0x6f:
	case 0x74 ... 0x76:
	case 0x7c ... 0x7d:
	case 0x7f:
	case 0xa3:
	case 0xc3:
	case 0xd0 ... 0xd6:
	case 0xd8 ... 0xfe:
		return M;
	case 0x2c ... 0x2d: /* cvttss2si … */
	case 0x40 ... 0x50: /* cmov, movmskps */
	case 0xaf:
	case 0xb8:
	case 0xbc ... 0xbd:
	case 0xb7:
	case 0xbf:
	case 0xb6: /* only the source is a byte */
	case 0xbe:
	case 0xd7:
		return M | G;
	case 0x70 ... 0x73:
	case 0xc2:
	case 0xc4:
	case 0xc6:
		return M | B;
	case 0x77:
		return N;
	case 0x1e: /* nop, endbr64; with f3 also rdsspq */
		return f3 ? M | E : M;
	case 0xae: /* fences, mxcsr; with f3 the segments' bases */
		return f3 ? X : M;
	case 0x7e: /* movq from a vector register to one, else to a general one */
		return f3 ? M : M | E;
	case 0x80 ... 0x8f:
		return J4;
	case 0x90 ... 0x9f:
		return M | E | Y;
	case 0x31:
		return A;
	case 0xa4:
	case 0xac:
	case 0xba:
		return M | B | E;
	case 0xa5:
	case 0xab:
	case 0xad:
	case 0xb3:
	case 0xbb:
		return M | E;
	case 0xb0:
	case 0xc0:
		return M | E | G | A | Y;
	case 0xb1:
	case 0xc1:
		return M | E | G | A;
	case 0xc5:
		return M | B | G;
	case 0xc8 ... 0xcf:
		return O;
	default:
		return X;
	}
}

static uint16_t form_of_0f38(uint8_t opcode)
{
	return opcode < 0xf0 ? M : M | G | E;
}

static uint16_t form_of_0f3a(uint8_t opcode)
{
	if (opcode >= 0x60 && opcode <= 0x63)
		return M | B | S; /* pcmpistri: rcx */
	return opcode >= 0x14 && opcode <= 0x17 ? M | B | E : M | B;
}

/* Of a VEX or EVEX prefix; @map: 1 0F, 2 0F38, 3 0F3A, 5 and 6 half-precision numbers. */
static uint16_t form_of_vector(unsigned map, uint8_t opcode, bool f3)
{
	switch (map) {
	case 1:
		if (opcode == 0x77)
			return N;
		/* Masks have the opcodes of cmov, jcc and setcc. To general registers: kmov, cvtsd2usi. */
		if ((opcode >= 0x40 && opcode < 0x50) || (opcode >= 0x80 && opcode <= 0x9f))
			return opcode == 0x93 ? M | G : M;
		return opcode == 0x78 || opcode == 0x79 ? M | G : form_of_0f(opcode, f3);
	case 2: /* e0 to ef: cmpccxadd */
		return opcode >= 0xe0 && opcode < 0xf0 ? M | G : form_of_0f38(opcode);
	case 3:
		return opcode == 0xf0 ? M | B | G : form_of_0f3a(opcode);
	case 5:
		if ((opcode & 0x7e) == 0x2c || (opcode & 0x7e) == 0x78)
			return M | G;
		return opcode == 0x7e ? M | E : M;
	case 6:
		return M;
	default:
		return X;
	}
}

struct prefixes {
	bool operand_size, f3, segment;
	uint8_t rex; /* 0: none; W 8, R 4, X 2, B 1 */
	unsigned map;
	bool vector;
	uint8_t also; /* a register that VEX names: the second source, of some instructions the target */
};

/* Bits of REX, inverted as VEX and EVEX have them. */
static uint8_t rex_of(uint8_t byte)
{
	return 0x40 | (~byte >> 5 & 7);
}

static bool read_vex(struct reader *code, uint8_t first, struct prefixes *prefixes)
{
	uint8_t one = 0, two = 0, three;
	if (!reader_u8(code, &one) || (first != 0xc5 && !reader_u8(code, &two)))
		return false;
	prefixes->vector = true;
	if (first == 0xc5) {
		prefixes->map = 1;
		prefixes->rex = 0x40 | (one & 0x80 ? 0 : 4);
		two = one & 0x7f;
	} else {
		/* EVEX: bit 3 is clear, and bit 2 of the second byte is set; what is otherwise is of later extensions. */
		if (first == 0x62 && (one & 8 || !(two & 4) || !reader_u8(code, &three)))
			return false;
		prefixes->map = first == 0x62 ? one & 7 : one & 0x1f;
		prefixes->rex = rex_of(one) | (two & 0x80 ? 8 : 0);
	}
	prefixes->f3 = (two & 3) == 2;
	prefixes->also = ~two >> 3 & 15;
	return true;
}

static bool read_prefixes(struct reader *code, struct prefixes *prefixes, uint8_t *opcode)
{
	for (;;) {
		if (!reader_u8(code, opcode))
			return false;
		switch (*opcode) {
		case 0x66:
			prefixes->operand_size = true;
			continue;
		case 0xf3:
			prefixes->f3 = true;
			continue;
		case 0x64 ... 0x65:
			prefixes->segment = true;
			continue;
		case 0xf0: /* lock, repeat, other segments: they do not change the form */
		case 0xf2:
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			continue;
		}
		break;
	}
	if ((*opcode & 0xf0) == 0x40) {
		prefixes->rex = *opcode;
		return reader_u8(code, opcode) && (*opcode & 0xf0) != 0x40;
	}
	if (*opcode == 0xc4 || *opcode == 0xc5 || *opcode == 0x62)
		return read_vex(code, *opcode, prefixes) && reader_u8(code, opcode);
	return true;
}

static bool read_form(struct reader *code, struct prefixes *prefixes, uint8_t opcode,
		      struct insn *insn, uint16_t *form)
{
	insn->map = INSN_ONE_BYTE;
	if (prefixes->vector) {
		insn->map = INSN_VECTOR;
		*form = form_of_vector(prefixes->map, opcode, prefixes->f3);
	} else if (opcode != 0x0f) {
		*form = one_byte[opcode];
	} else if (!reader_u8(code, &opcode)) {
		return false;
	} else if (opcode == 0x38 || opcode == 0x3a) {
		insn->map = opcode == 0x38 ? INSN_0F38 : INSN_0F3A;
		if (!reader_u8(code, &opcode))
			return false;
		*form = insn->map == INSN_0F38 ? form_of_0f38(opcode) : form_of_0f3a(opcode);
	} else {
		insn->map = INSN_0F;
		*form = form_of_0f(opcode, prefixes->f3);
	}
	insn->opcode = opcode;
	return !(*form & X) && *form;
}

static bool read_displacement(struct reader *code, unsigned mode, bool is_long, struct insn *insn)
{
	int8_t byte = 0;
	if (mode == 2 || is_long)
		return reader_i32(code, &insn->offset);
	if (mode == 1 && !reader_i8(code, &byte))
		return false;
	insn->offset = byte;
	return true;
}

static bool read_modrm(struct reader *code, const struct prefixes *prefixes, struct insn *insn)
{
	uint8_t modrm = 0, sib = 0;
	if (!reader_u8(code, &modrm))
		return false;
	unsigned mode = modrm >> 6, low = modrm & 7;
	uint8_t extend = prefixes->rex & 1 ? 8 : 0;
	insn->reg = (uint8_t)((modrm >> 3 & 7) | (prefixes->rex & 4 ? 8 : 0));
	insn->rm = (uint8_t)(low | extend);
	if (mode == 3)
		return true;
	insn->is_memory = true;
	if (low != 4) {
		insn->has_base = mode || low != 5;
		return read_displacement(code, mode, !insn->has_base, insn);
	}
	if (!reader_u8(code, &sib))
		return false;
	insn->has_base = mode || (sib & 7) != 5;
	insn->has_index = (sib >> 3 & 7) != 4 || prefixes->rex & 2;
	insn->rm = (uint8_t)((sib & 7) | extend);
	return read_displacement(code, mode, !insn->has_base, insn);
}

static bool read_number(struct reader *code, unsigned bytes, int64_t *ret)
{
	const uint8_t *at = reader_bytes(code, bytes);
	uint64_t value = 0;
	if (!at)
		return false;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	unsigned unused = 64 - 8 * bytes;
	*ret = (int64_t)(value << unused) >> unused;
	return true;
}

static bool read_operand(struct reader *code, const struct prefixes *prefixes, uint16_t form,
			 struct insn *insn)
{
	unsigned z = prefixes->operand_size && !insn->wide ? 2 : 4;
	/* Two bytes pushed, a jump within the first 64 KB. */
	if (prefixes->operand_size && form & (W | J4))
		return false;
	/* Groups: test has an immediate, not and neg and the divisions have none. */
	if (insn->map == INSN_ONE_BYTE && (insn->opcode & 0xfe) == 0xf6 && (insn->reg & 7) < 2)
		form |= insn->opcode == 0xf6 ? B : Z;
	unsigned bytes = form & (B | J1)                         ? 1
			 : form & J4                             ? 4
			 : form & Z || (form & Q && !insn->wide) ? z
			 : form & Q                              ? 8
								 : 0;
	return !bytes || read_number(code, bytes, &insn->operand);
}

static unsigned bit(unsigned reg)
{
	return 1u << reg;
}

/* Without REX, the bytes 4 to 7 are the second ones of the first four registers. */
static unsigned bit_of(const struct prefixes *prefixes, uint16_t form, unsigned reg)
{
	return bit(form & Y && !prefixes->rex ? reg & 3 : reg);
}

static unsigned find_writes(const struct prefixes *prefixes, uint16_t form, const struct insn *insn)
{
	unsigned writes = 0;
	bool general = insn->map == INSN_VECTOR && prefixes->map == 2 && insn->opcode >= 0xf0;
	if (form & A)
		writes |= bit(INSN_RAX) | bit(INSN_RDX);
	if (form & S)
		writes |= bit(INSN_RSI) | bit(INSN_RDI) | bit(INSN_RCX);
	if (form & G || (form & O && !(form & W)))
		writes |= bit_of(prefixes, form, insn->reg);
	if (form & E && !insn->is_memory)
		writes |= bit_of(prefixes, form, insn->rm);
	return general ? writes | bit(prefixes->also) : writes;
}

/* Members of groups that are refused, or that write less than their group. */
static bool check_group(bool operand_size, struct insn *insn, uint16_t *form)
{
	unsigned member = insn->reg & 7;
	if (insn->map != INSN_ONE_BYTE)
		return true;
	switch (insn->opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
		if (member == 7) /* cmp */
			*form &= (uint16_t)~E;
		return true;
	case 0xc6:
	case 0xc7:
	case 0xfe:
		return member < (insn->opcode == 0xfe ? 2 : 1);
	case 0xf6:
	case 0xf7:
		if (member < 2) /* test */
			*form &= (uint16_t) ~(E | A);
		return true;
	case 0xff:
		if (member > 1)
			*form &= (uint16_t)~E;
		/* Two bytes pushed, a jump within the first 64 KB. */
		if (member > 1 && operand_size)
			return false;
		return member != 3 && member != 5 && member != 7;
	default:
		return true;
	}
}

bool insn_x86_64_decode(const uint8_t *bytes, size_t size, struct insn *insn_ret)
{
	struct reader code = reader_make(bytes, size < INSN_BYTES_MAX ? size : INSN_BYTES_MAX);
	struct prefixes prefixes = { 0 };
	struct insn insn = { 0 };
	uint8_t opcode = 0;
	uint16_t form = 0;
	if (!read_prefixes(&code, &prefixes, &opcode) ||
	    !read_form(&code, &prefixes, opcode, &insn, &form))
		return false;
	insn.wide = prefixes.rex & 8 || form & W;
	insn.segment = prefixes.segment;
	if (form & O)
		insn.reg = (uint8_t)((insn.opcode & 7) | (prefixes.rex & 1 ? 8 : 0));
	if (form & M && !read_modrm(&code, &prefixes, &insn))
		return false;
	if (!check_group(prefixes.operand_size, &insn, &form) ||
	    !read_operand(&code, &prefixes, form, &insn))
		return false;
	insn.writes = (uint16_t)find_writes(&prefixes, form, &insn);
	insn.length = (uint8_t)reader_offset(&code);
	*insn_ret = insn;
	return true;
}
