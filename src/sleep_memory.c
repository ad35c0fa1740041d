/* SPDX-License-Identifier: MIT */
/* sleep_memory.c: registers of sleepers that were held once. */
#include "sleep_memory.h"

#include "base/hash.h"

static uint64_t hash_of(const struct native_frames *frames)
{
	uint64_t hash = frames->count;
	vec_foreach (frame, frames) {
		const uint64_t place[] = { frame->pc, frame->sp };
		hash = hash_bytes(place, sizeof(place), hash);
	}
	return hash;
}

/* What of a place /proc tells. */
static bool is_at(const struct arch *arch, const struct arch_registers *a,
		  const struct arch_registers *b)
{
	uint64_t a_sp, a_pc, b_sp, b_pc;
	return arch_register_get(a, arch->sp, &a_sp) && arch_register_get(a, arch->pc, &a_pc) &&
	       arch_register_get(b, arch->sp, &b_sp) && arch_register_get(b, arch->pc, &b_pc) &&
	       a_sp == b_sp && a_pc == b_pc;
}

const struct sleep_place *sleep_memory_find(const struct sleep_memory *memory,
					    const struct arch *arch,
					    const struct arch_registers *registers)
{
	for (size_t i = 0; i < memory->count; i++)
		if (is_at(arch, &memory->places[i].registers, registers))
			return &memory->places[i];
	return NULL;
}

void sleep_memory_keep(struct sleep_memory *memory, const struct arch *arch,
		       const struct arch_registers *slept, const struct arch_registers *registers,
		       const struct native_frames *frames)
{
	size_t at = 0;
	if (!is_at(arch, slept, registers))
		return;
	while (at < memory->count && !is_at(arch, &memory->places[at].registers, registers))
		at++;
	if (at == SLEEP_PLACES_MAX) {
		at = memory->oldest;
		memory->oldest = (memory->oldest + 1) % SLEEP_PLACES_MAX;
	}
	if (at == memory->count)
		memory->count++;
	memory->places[at] = (struct sleep_place){ *registers, hash_of(frames) };
}

bool sleep_place_matches(const struct sleep_place *place, const struct native_frames *frames)
{
	return place->frames == hash_of(frames);
}
