/* SPDX-License-Identifier: MIT */
/* A file of nothing but notes: given these properties, these values. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "image/image.h"

#define AARCH64_FEATURES 0xc0000000

/* Words of a note section, as they lie in the file. */
static const uint32_t notes[] = {
	/* a build id: name, description and type, "GNU", four bytes */
	4, 4, NT_GNU_BUILD_ID, 0x00554e47, 0x12345678,
	/* another's note of the type of properties, of three bytes */
	3, 3, NT_GNU_PROPERTY_TYPE_0, 0x00000041, 0x00010101,
	/* properties: one of eight bytes, then what is looked for, padded to eight */
	4, 32, NT_GNU_PROPERTY_TYPE_0, 0x00554e47, 1, 8, 0x11, 0x22, AARCH64_FEATURES, 4, 0x5, 0
};

enum { NOTES_AT = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) };

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	uint8_t notes[sizeof(notes)];
};

static struct file file_with(size_t size)
{
	struct file file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_AARCH64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = sizeof(file), .p_memsz = sizeof(file) },
			{ .p_type = PT_NOTE, .p_flags = PF_R, .p_offset = NOTES_AT, .p_vaddr = NOTES_AT,
			  .p_filesz = size, .p_memsz = size },
		},
	};
	memcpy(file.notes, notes, sizeof(notes));
	return file;
}

static bool property(const struct file *file, uint32_t type, uint32_t *value)
{
	struct image *image = NULL;
	assert_null(image_open_bytes(file, sizeof(*file), "notes", &image));
	bool found = image_property(image, type, value);
	image_close(image);
	return found;
}

static void test_a_property(void **state)
{
	struct file file = file_with(sizeof(notes));
	uint32_t value = 7;
	assert_true(property(&file, AARCH64_FEATURES, &value));
	assert_int_equal(value, 5);
	value = 7;
	/* Of another size, and one that is not there. */
	assert_false(property(&file, 1, &value));
	assert_false(property(&file, 0xc0000002, &value));
	assert_int_equal(value, 7);
}

/* Cut anywhere: the last eight bytes are the value and its padding. */
static void test_cut_notes(void **state)
{
	for (size_t size = 0; size < sizeof(notes); size++) {
		struct file file = file_with(size);
		uint32_t value = 7;
		assert_false(property(&file, AARCH64_FEATURES, &value));
		assert_int_equal(value, 7);
	}
}

/* Sizes that lie are no way out of the notes. */
static void test_damaged_notes(void **state)
{
	for (size_t at = 0; at < sizeof(notes); at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			struct file file = file_with(sizeof(notes));
			uint32_t value;
			file.notes[at] ^= (uint8_t)(1u << bit);
			property(&file, AARCH64_FEATURES, &value);
		}
	}
	struct file file = file_with(sizeof(notes));
	uint32_t value, huge = UINT32_MAX;
	memcpy(file.notes, &huge, sizeof(huge));
	assert_false(property(&file, AARCH64_FEATURES, &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_property),
		cmocka_unit_test(test_cut_notes),
		cmocka_unit_test(test_damaged_notes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
