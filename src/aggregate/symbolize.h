/* SPDX-License-Identifier: MIT */
/*
 * symbolize.h: native addresses → names, once for each address, after the sampling.
 *
 * While samples come in, a native frame is a function of the profile that stands for one address. At the end each of them gets its
 * name, and the profile is written anew with the named functions in their place; frames of the interpreter that only pass a call on
 * are left out then, if that is wanted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregate/profile.h"
#include "base/error.h"
#include "base/hash.h"
#include "image/debuginfo.h"
#include "image/image.h"

enum symbolize_mode {
	SYMBOLIZE_FOLD, /* glue frames of the interpreter are left out */
	SYMBOLIZE_FULL, /* all frames */
	SYMBOLIZE_LEAF, /* native frames only below the innermost Python frame */
};

/* Where an address is. */
struct symbolize_place {
	struct image *image; /* NULL: no names to be had */
	const char *path;    /* of the file, in the target's root; "[vdso]", "[anon]", … */
	const char *name;    /* known already, as of generated code; NULL otherwise */
	uint64_t vaddr;      /* in the image; elsewhere from the start of its mapping */
	uint64_t function;   /* vaddr where its function begins; 0: not known */
	bool is_runtime;     /* the image holds the interpreter */
};

struct symbolize;

struct error *symbolize_create(struct symbolize **symbolize_ret);
void symbolize_destroy(struct symbolize *symbolize);

/* The profile's function for the address; PROFILE_NONE without memory. */
uint32_t symbolize_function(struct symbolize *symbolize, struct profile *profile,
			    const struct symbolize_place *place);
/* Gives names to all addresses so far, and closes their images: until then they are held open, whatever the process maps. */
void symbolize_resolve(struct symbolize *symbolize, const struct debuginfo_places *places);
/* The same, but images stay open and addresses keep their functions: for names in the middle of a run, as often as wanted. */
void symbolize_resolve_new(struct symbolize *symbolize, const struct debuginfo_places *places);

/* What is known of a native function of the profile. */
struct symbolize_label {
	const char *name; /* NULL: none */
	uint64_t vaddr;   /* where it begins, as far as known: addresses in it have the same */
	bool is_glue;     /* a frame of the interpreter that only passes a call on */
};
/* False: the function did not come from symbolize_function. */
bool symbolize_label(const struct symbolize *symbolize, uint32_t function,
		     struct symbolize_label *label_ret);
/* True when so many images are held that symbolize_resolve should not wait for the end. */
bool symbolize_is_full(const struct symbolize *symbolize);
/*
 * A copy with names, as far as they are resolved, which stands for itself: with the facts, and with those processes and threads that
 * have samples. @symbolize may be NULL: there are no native frames.
 */
struct error *symbolize_copy(struct symbolize *symbolize, enum symbolize_mode mode,
			     const struct profile *profile, struct profile **copy_ret);
/* Replaces *@profile by one with names. On failure it stays as it is. */
struct error *symbolize_rewrite(struct symbolize *symbolize, enum symbolize_mode mode,
				struct profile **profile);
/* The same, and the ids of the @count @stacks become those of the new profile; PROFILE_NONE stays. */
struct error *symbolize_rewrite_stacks(struct symbolize *symbolize, enum symbolize_mode mode,
				       struct profile **profile, uint32_t *stacks, size_t count);
