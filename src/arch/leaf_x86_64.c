/* SPDX-License-Identifier: MIT */
/*
 * leaf_x86_64.c: the way out of x86-64 code with jumps.
 *
 * All code that can be reached is read, from jump target to jump target, until nothing new is learnt. A register's value is known as
 * a sum of what a register had at the start and a number, or as what was in memory at such a place; where two ways with different
 * values meet it is unknown. Returns are a place where ways meet too: what is known there holds on every way.
 */
#include "arch/leaf_x86_64.h"

#include <string.h>

#include "arch/insn_x86_64.h"

#define REGISTERS 16
#define WORD      8
/* Stack frames beyond this are not read from instructions. */
#define FRAME_MAX (1 << 24)
/* psABI AMD64 §3.2.2 */
#define RED_ZONE 128

/* Kernels have some hundred jumps and five thousand instructions, most of which are read twice. */
#define PLACES_MAX 192
#define STEPS_MAX  (1 << 15)
#define SLOTS_MAX  16

enum kind {
	UNKNOWN,
	SUM,   /* what base had at the start, + offset */
	SAVED, /* what was there in memory */
};

struct value {
	uint8_t kind; /* enum kind */
	uint8_t base;
	int32_t offset;
};

/* What was stored on the way. */
struct slot {
	struct value at; /* a SUM; or unknown: anywhere */
	struct value value;
	bool keeps; /* may be where a caller's register is saved */
};

struct state {
	struct value reg[REGISTERS];
	struct slot slots[SLOTS_MAX];
	uint8_t slot_count;
};

/* Where a way begins, or several meet. */
struct place {
	size_t at;
	bool changed; /* not yet read from with this state */
	struct state state;
};

/* One for each byte of code. */
struct bits {
	uint8_t bits[FLOW_LEAF_BYTES * 2 / 8];
};

struct leaf {
	const uint8_t *code;
	size_t size;
	unsigned steps;
	struct place places[PLACES_MAX];
	size_t place_count;
	struct place exit;
	bool has_exit;
	struct bits begins; /* where a place is */
};

static const struct value unknown;

/* Callees keep them: hardware's number, DWARF's. Ascending by the latter. */
static const uint8_t kept[][2] = {
	{ INSN_RBX, 3 }, { INSN_RBP, 6 }, { 12, 12 }, { 13, 13 }, { 14, 14 }, { 15, 15 },
};

#define KEPT_COUNT (sizeof(kept) / sizeof(kept[0]))

/* As the caller had it. */
static bool is_kept(struct value value)
{
	for (unsigned i = 0; i < KEPT_COUNT; i++)
		if (value.kind == SUM && value.base == kept[i][0] && !value.offset)
			return true;
	return false;
}

static bool has_bit(const struct bits *bits, size_t at)
{
	return bits->bits[at / 8] >> at % 8 & 1;
}

static void set_bit(struct bits *bits, size_t at)
{
	bits->bits[at / 8] |= (uint8_t)(1u << at % 8);
}

static bool is_equal(struct value a, struct value b)
{
	return a.kind == b.kind && a.base == b.base && a.offset == b.offset;
}

static struct value sum(struct value value, int64_t by)
{
	int64_t offset = value.offset + by;
	if (value.kind != SUM || offset < -FRAME_MAX || offset > FRAME_MAX)
		return unknown;
	value.offset = (int32_t)offset;
	return value;
}

static struct slot *find_slot(struct state *state, struct value at)
{
	for (unsigned i = 0; i < state->slot_count; i++)
		if (is_equal(state->slots[i].at, at))
			return &state->slots[i];
	return NULL;
}

/* NULL if there is no room. */
static struct slot *make_slot(struct state *state, struct value at)
{
	struct slot *slot = find_slot(state, at);
	if (slot || state->slot_count == SLOTS_MAX)
		return slot;
	slot = &state->slots[state->slot_count++];
	*slot = (struct slot){ .at = at };
	return slot;
}

static bool store(struct state *state, struct value at, struct value value)
{
	if (at.kind != SUM && !is_kept(value))
		return true;
	struct slot *slot = make_slot(state, at.kind == SUM ? at : unknown);
	if (!slot)
		return false;
	slot->value = value;
	slot->keeps = slot->keeps || is_kept(value);
	return true;
}

/* One register's memory may be another's: push %rbx, then mov -8(%rbp),%rbx. */
static bool may_be_kept_elsewhere(const struct state *state, struct value at)
{
	for (unsigned i = 0; i < state->slot_count; i++)
		if (state->slots[i].keeps &&
		    (state->slots[i].at.kind != SUM || state->slots[i].at.base != at.base))
			return true;
	return false;
}

static struct value load(struct state *state, struct value at)
{
	const struct slot *slot = at.kind == SUM ? find_slot(state, at) : NULL;
	if (slot)
		return slot->value;
	if (at.kind != SUM || may_be_kept_elsewhere(state, at) ||
	    (at.base == INSN_RSP && at.offset < -RED_ZONE))
		return unknown;
	at.kind = SAVED;
	return at;
}

/* ---- where ways meet ---- */

static void merge_slot(struct slot *slot, const struct slot *same, bool *changed)
{
	bool keeps = slot->keeps || (same && same->keeps);
	*changed = *changed || keeps != slot->keeps;
	slot->keeps = keeps;
	if (!slot->value.kind || (same && is_equal(slot->value, same->value)))
		return;
	slot->value = unknown;
	*changed = true;
}

static bool merge_slots(struct state *state, struct state *other, bool *changed)
{
	for (unsigned i = 0; i < state->slot_count; i++)
		merge_slot(&state->slots[i], find_slot(other, state->slots[i].at), changed);
	for (unsigned i = 0; i < other->slot_count; i++) {
		if (find_slot(state, other->slots[i].at))
			continue;
		struct slot *slot = make_slot(state, other->slots[i].at);
		if (!slot)
			return false;
		slot->keeps = other->slots[i].keeps;
		*changed = true;
	}
	return true;
}

static bool merge(struct place *place, struct state *other)
{
	for (unsigned i = 0; i < REGISTERS; i++) {
		struct value *value = &place->state.reg[i];
		if (!value->kind || is_equal(*value, other->reg[i]))
			continue;
		*value = unknown;
		place->changed = true;
	}
	return merge_slots(&place->state, other, &place->changed);
}

static struct place *find_place(struct leaf *leaf, size_t at)
{
	if (at >= leaf->size || !has_bit(&leaf->begins, at))
		return NULL;
	for (size_t i = 0; i < leaf->place_count; i++)
		if (leaf->places[i].at == at)
			return &leaf->places[i];
	return NULL;
}

static bool go_to(struct leaf *leaf, size_t at, struct state *state)
{
	struct place *place = find_place(leaf, at);
	if (place)
		return merge(place, state);
	if (at >= leaf->size || leaf->place_count == PLACES_MAX)
		return false;
	set_bit(&leaf->begins, at);
	leaf->places[leaf->place_count++] =
		(struct place){ .at = at, .changed = true, .state = *state };
	return true;
}

static bool go_out(struct leaf *leaf, struct state *state)
{
	if (leaf->has_exit)
		return merge(&leaf->exit, state);
	leaf->has_exit = true;
	leaf->exit.state = *state;
	return true;
}

/* ---- instructions ---- */

enum went {
	WENT_ON,
	WENT_ELSEWHERE, /* jumped or returned: nothing follows */
	WENT_AWAY,      /* not understood */
};

static bool push(struct state *state, struct value value)
{
	struct value *sp = &state->reg[INSN_RSP];
	*sp = sum(*sp, -WORD);
	return store(state, *sp, value);
}

static bool pop(struct state *state, unsigned reg)
{
	struct value *sp = &state->reg[INSN_RSP];
	if (reg == INSN_RSP)
		return false;
	state->reg[reg] = load(state, *sp);
	*sp = sum(*sp, WORD);
	return true;
}

static bool is_plain_memory(const struct insn *insn)
{
	return insn->is_memory && insn->has_base && !insn->has_index && !insn->segment;
}

/*
 * Registers are saved by way of the stack and the frame pointer, of a copy of the stack pointer, or of a register that may have been
 * one at the start; what else is stored is data. But for the stack pointer: code that leaves it in memory goes on to another stack.
 */
static bool store_register(struct state *state, const struct insn *insn)
{
	struct value base = state->reg[insn->rm], value = state->reg[insn->reg];
	bool is_stack = insn->rm == INSN_RSP || insn->rm == INSN_RBP || base.base == INSN_RSP;
	if (!is_plain_memory(insn))
		return true;
	if (!is_stack && base.kind == SUM && value.kind == SUM && value.base == INSN_RSP)
		return false;
	if (!is_stack && !is_kept(value))
		return true;
	return store(state, sum(base, insn->offset), value);
}

static void forget(struct state *state, unsigned writes)
{
	for (unsigned i = 0; i < REGISTERS; i++)
		if (writes >> i & 1)
			state->reg[i] = unknown;
}

/* What is moved, added or saved is followed; of any other instruction only that its targets are something else afterwards. */
static bool follow(struct state *state, const struct insn *insn)
{
	struct value *reg = state->reg;
	unsigned member = insn->reg & 7;
	switch (insn->map == INSN_ONE_BYTE ? insn->opcode : -1) {
	case 0x50 ... 0x57:
		return push(state, reg[insn->reg]);
	case 0x58 ... 0x5f:
		return pop(state, insn->reg);
	case 0x68:
	case 0x6a:
		return push(state, unknown);
	case 0xff:
		if (member == 6)
			return push(state, unknown);
		break;
	case 0xc9: /* leave */
		reg[INSN_RSP] = reg[INSN_RBP];
		return pop(state, INSN_RBP);
	case 0x81:
	case 0x83:
		if (!insn->wide || insn->is_memory || (member != 0 && member != 5))
			break;
		reg[insn->rm] = sum(reg[insn->rm], member ? -insn->operand : insn->operand);
		return true;
	case 0x89:
		if (insn->wide && insn->is_memory)
			return store_register(state, insn);
		if (!insn->wide || insn->is_memory)
			break;
		reg[insn->rm] = reg[insn->reg];
		return true;
	case 0x8b:
		if (!insn->wide || (insn->is_memory && !is_plain_memory(insn)))
			break;
		reg[insn->reg] = insn->is_memory ? load(state, sum(reg[insn->rm], insn->offset))
						 : reg[insn->rm];
		return true;
	case 0x8d: /* lea */
		if (!insn->wide || !is_plain_memory(insn))
			break;
		reg[insn->reg] = sum(reg[insn->rm], insn->offset);
		return true;
	}
	forget(state, insn->writes);
	return true;
}

static bool is_conditional(const struct insn *insn)
{
	return insn->map == INSN_0F ? insn->opcode >= 0x80 && insn->opcode <= 0x8f
				    : insn->map == INSN_ONE_BYTE &&
					      ((insn->opcode >= 0x70 && insn->opcode <= 0x7f) ||
					       (insn->opcode >= 0xe0 && insn->opcode <= 0xe3));
}

static enum went on_if(bool understood, enum went went)
{
	return understood ? went : WENT_AWAY;
}

/* @next: where the following instruction is. */
static enum went step(struct leaf *leaf, struct state *state, const struct insn *insn, size_t next)
{
	/* Wraps around for a target before the code: too large then. */
	size_t target = next + (size_t)insn->operand;
	if (is_conditional(insn)) {
		forget(state, insn->writes);
		return on_if(go_to(leaf, target, state), WENT_ON);
	}
	switch (insn->map == INSN_ONE_BYTE ? insn->opcode : -1) {
	case 0xc3:
		return on_if(go_out(leaf, state), WENT_ELSEWHERE);
	case 0xe9:
	case 0xeb:
		return on_if(go_to(leaf, target, state), WENT_ELSEWHERE);
	case 0xe8:
		return WENT_AWAY;
	case 0xff:
		if ((insn->reg & 7) == 2 || (insn->reg & 7) == 4)
			return WENT_AWAY;
		break;
	}
	return on_if(follow(state, insn), WENT_ON);
}

/* From a place to the next one. */
static bool read_on(struct leaf *leaf, struct place *place)
{
	struct state state = place->state;
	size_t at = place->at, start = at;
	struct insn insn;
	place->changed = false;
	for (;; at += insn.length) {
		if (at != start && find_place(leaf, at))
			return go_to(leaf, at, &state);
		if (!leaf->steps-- || !insn_x86_64_decode(leaf->code + at, leaf->size - at, &insn))
			return false;
		enum went went = step(leaf, &state, &insn, at + insn.length);
		if (went != WENT_ON)
			return went == WENT_ELSEWHERE;
	}
}

/* The first in the code: most ways lead forward, so that little is read again. */
static struct place *find_changed(struct leaf *leaf)
{
	struct place *first = NULL;
	for (size_t i = 0; i < leaf->place_count; i++) {
		struct place *place = &leaf->places[i];
		if (place->changed && (!first || place->at < first->at))
			first = place;
	}
	return first;
}

static bool read_all(struct leaf *leaf)
{
	struct place *place;
	while ((place = find_changed(leaf)))
		if (!read_on(leaf, place))
			return false;
	return leaf->has_exit;
}

/* ---- the answer ---- */

static const uint8_t dwarf_numbers[] = { 0, 2, 1, 3, 7, 6, 4, 5 };

_Static_assert(KEPT_COUNT <= FLOW_SAVED_MAX, "there is room for all");

static bool find_exit(const struct state *state, struct flow_exit *exit_ret)
{
	struct value sp = state->reg[INSN_RSP];
	/* Below the stack pointer that it began with there is no return address. */
	if (sp.kind != SUM || (sp.base == INSN_RSP && sp.offset < 0))
		return false;
	struct flow_exit exit = {
		.base = sp.base < 8 ? dwarf_numbers[sp.base] : sp.base,
		.cfa = sp.offset + WORD,
		.returns = -WORD,
	};
	for (unsigned i = 0; i < KEPT_COUNT; i++) {
		struct value value = state->reg[kept[i][0]];
		if (value.kind == SUM && value.base == kept[i][0] && !value.offset)
			continue;
		if (value.kind != SAVED || value.base != sp.base)
			return false;
		exit.saved[exit.saved_count].reg = kept[i][1];
		exit.saved[exit.saved_count++].at = value.offset - exit.cfa;
	}
	*exit_ret = exit;
	return true;
}

bool leaf_x86_64_exit(const uint8_t *code, size_t size, size_t at, struct flow_exit *exit_ret)
{
	struct leaf leaf = { .code = code, .size = size, .steps = STEPS_MAX };
	struct state state = { .slot_count = 0 };
	if (size > 2 * (size_t)FLOW_LEAF_BYTES)
		return false;
	for (uint8_t i = 0; i < REGISTERS; i++)
		state.reg[i] = (struct value){ .kind = SUM, .base = i };
	return go_to(&leaf, at, &state) && read_all(&leaf) && find_exit(&leaf.exit.state, exit_ret);
}
