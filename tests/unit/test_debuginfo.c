/* SPDX-License-Identifier: MIT */
/*
 * test_debuginfo.c: given a file at this place, accepted or not; given a trap there, nothing happens.
 *
 * test_symbols.c has the places themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "image/debuginfo.h"
#include "image/rootfs.h"
#include "scratch.h"

#define CC "${CC:-cc} -nostdlib -shared -Wl,-Ttext=0x10000 -Wl,--build-id=0xabcdef0123"

/* "ROOT" is the target's root; the image lies at /lib/x.so in it. */
static void make_root(void)
{
	scratch_write("x.s", ".globl f\n.type f,%function\nf: .skip 16\n.size f,16\n");
	assert_true(scratch_run(
		"rm -rf ROOT outside && "
		"mkdir -p ROOT/lib ROOT/usr/lib/debug/.build-id/ab outside && " CC
		" -o ROOT/lib/x.so x.s && objcopy --only-keep-debug ROOT/lib/x.so good && "
		"strip ROOT/lib/x.so"));
}

#define IN_ROOT "ROOT/usr/lib/debug/.build-id/ab/cdef0123.debug"

static bool is_found(void)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/ROOT", scratch_dir);
	_cleanup_close_ int root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct debuginfo_places places = { .root_fd = root_fd };
	_cleanup_image_ struct image *image = scratch_open("ROOT/lib/x.so"), *debug = NULL;
	return debuginfo_find(image, "/lib/x.so", &places, &debug);
}

static void a_file_in_the_root_of_the_target(void **state)
{
	if (!scratch_has("${CC:-cc} strip objcopy"))
		skip();
	make_root();
	assert_false(is_found());
	assert_true(scratch_run("cp good " IN_ROOT));
	assert_true(is_found());
}

/* A link in the target's root means a place in that root. */
/* Without it, a link to a file of the target is not followed: Linux before 5.6, and valgrind. */
static bool has_openat2(void)
{
	return syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno != ENOSYS;
}

static void a_link_does_not_leave_the_root(void **state)
{
	if (!scratch_has("${CC:-cc} strip objcopy"))
		skip();
	if (!has_openat2()) {
		fprintf(stderr, "skipped: no openat2 here\n");
		skip();
	}
	make_root();
	assert_true(scratch_run("cp good ROOT/lib/real && ln -s /lib/real " IN_ROOT));
	assert_true(is_found());
	assert_true(scratch_run("mv ROOT/lib/real outside/real && "
				"ln -sf %s/outside/real " IN_ROOT,
				scratch_dir));
	assert_false(is_found());
	assert_true(scratch_run("ln -sf ../../../../../../outside/real " IN_ROOT));
	assert_false(is_found());
}

static void a_fifo_does_not_block(void **state)
{
	if (!scratch_has("${CC:-cc} strip objcopy mkfifo"))
		skip();
	make_root();
	assert_true(scratch_run("mkfifo " IN_ROOT));
	assert_false(is_found());
}

static void the_debug_file_of_another_cpu(void **state)
{
	if (!scratch_has("${CC:-cc} strip objcopy"))
		skip();
	make_root();
	/* e_machine, at 18. */
	assert_true(scratch_run("cp good " IN_ROOT " && printf '\\363\\000' | "
				"dd of=" IN_ROOT " bs=1 seek=18 conv=notrunc 2>/dev/null"));
	assert_false(is_found());
}

static void a_debug_link_with_a_path_is_refused(void **state)
{
	if (!scratch_has("${CC:-cc} strip objcopy"))
		skip();
	make_root();
	/* A name of 8 bytes and its CRC, at the place of the image. */
	assert_true(
		scratch_run("sed -i 's/0xabcdef0123/none/' x.s && ${CC:-cc} -nostdlib -shared "
			    "-Wl,--build-id=none -o ROOT/lib/x.so x.s && mkdir -p ROOT/lib/d && "
			    "objcopy --only-keep-debug ROOT/lib/x.so ROOT/lib/d/x.debug && "
			    "strip ROOT/lib/x.so && cd ROOT/lib && "
			    "objcopy --add-gnu-debuglink=d/x.debug x.so"));
	assert_false(is_found());
	assert_true(scratch_run("cp ROOT/lib/d/x.debug ROOT/lib/x.debug"));
	assert_true(is_found());
	/* The same name with a slash in it. */
	assert_true(scratch_run("objcopy --dump-section .gnu_debuglink=link ROOT/lib/x.so && "
				"{ printf 'd/x.debu\\0\\0\\0\\0' ; tail -c +9 link; } > slash && "
				"rm ROOT/lib/x.debug && "
				"cp ROOT/lib/d/x.debug ROOT/lib/d/x.debu && "
				"objcopy --update-section .gnu_debuglink=slash ROOT/lib/x.so"));
	assert_false(is_found());
}

/* ---- own files ---- */

static int open_own(const char *name, uid_t uid)
{
	_cleanup_close_ int root_fd = open(scratch_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct rootfs root = { .fd = root_fd, .uid = uid };
	int fd = rootfs_open_own_file(&root, name);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : errno;
}

static void files_of_the_process(void **state)
{
	scratch_write("mine", "x");
	assert_true(scratch_run("ln -sf mine link && mkdir -p d && rm -f fifo && mkfifo fifo"));
	assert_int_equal(open_own("/mine", getuid()), 0);
	assert_int_equal(open_own("/link", getuid()), ELOOP);
	assert_int_equal(open_own("/fifo", getuid()), ENOTSUP);
	assert_int_equal(open_own("/d", getuid()), ENOTSUP);
	assert_int_equal(open_own("/nothing", getuid()), ENOENT);
	if (getuid()) {
		assert_int_equal(open_own("/mine", getuid() + 1), EPERM);
		return;
	}
	assert_int_equal(open_own("/mine", 12345), 0); /* root's */
	assert_true(scratch_run("chown 12345 mine"));
	assert_int_equal(open_own("/mine", 12345), 0);
	assert_int_equal(open_own("/mine", 12346), EPERM);
}

static void the_root_of_a_process(void **state)
{
	_cleanup_process_ struct process *process = NULL;
	struct rootfs root;
	assert_null(process_open(getpid(), &process));
	assert_null(rootfs_open(process, &root));
	assert_int_equal(root.uid, geteuid());
	assert_int_equal(root.inner_pid, getpid());
	int fd = rootfs_open_file(root.fd, "/proc/self/status");
	assert_true(fd >= 0);
	close(fd);
	rootfs_close(&root);
}

/* ---- compressed sections ---- */

static void section_is_the_same(const char *kind)
{
	/* binutils older than 2.40 and those built without libzstd say so. */
	if (!scratch_run("objcopy --compress-debug-sections=%s plain.o packed.o 2>/dev/null",
			 kind)) {
		fprintf(stderr, "skipped: objcopy cannot compress with %s here\n", kind);
		return;
	}
	_cleanup_image_ struct image *plain = scratch_open("plain.o");
	_cleanup_image_ struct image *packed = scratch_open("packed.o");
	const uint8_t *expected, *data, *again;
	size_t expected_size, size;
	struct image_section section;
	assert_true(image_section(packed, ".debug_frame", &section));
	assert_true(section.size < 1000);
	assert_true(image_section_data(plain, ".debug_frame", &expected, &expected_size));
	assert_int_equal(expected_size, 4096);
	assert_true(image_section_data(packed, ".debug_frame", &data, &size));
	assert_int_equal(size, 4096);
	assert_memory_equal(data, expected, 4096);
	assert_true(image_section_data(packed, ".debug_frame", &again, &size));
	assert_int_equal(size, 4096);
	assert_ptr_equal(again, data);
	assert_true(image_section_data(packed, ".debug_other", &again, &size));
	assert_int_equal(size, 8192);
	assert_memory_equal(again + 8184, "another.", 8);
}

static void compressed_sections(void **state)
{
	if (!scratch_has("${CC:-cc} objcopy"))
		skip();
	scratch_write("plain.s", ".section .debug_frame,\"\",%progbits\n"
				 ".rept 512\n.ascii \"a frame.\"\n.endr\n"
				 ".section .debug_other,\"\",%progbits\n"
				 ".rept 1024\n.ascii \"another.\"\n.endr\n");
	assert_true(scratch_run("${CC:-cc} -c -o plain.o plain.s"));
	section_is_the_same("zlib");
#ifdef HAVE_ZSTD
	section_is_the_same("zstd");
#endif
}

/* 600 MB of zeroes in 90 KB. */
static void a_bomb_does_not_go_off(void **state)
{
	if (!debuginfo_can_unpack() || !scratch_has("${CC:-cc} objcopy xz"))
		skip();
	make_root();
	assert_true(scratch_run("head -c 600000000 /dev/zero | xz -1 > bomb.xz && "
				"cp ROOT/lib/x.so bomb.so && "
				"objcopy --add-section .gnu_debugdata=bomb.xz bomb.so"));
	_cleanup_image_ struct image *image = scratch_open("bomb.so"), *embedded = NULL;
	clock_t start = clock();
	assert_false(debuginfo_open_embedded(image, &embedded));
	assert_true(clock() - start < 2 * CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_in_the_root_of_the_target),
		cmocka_unit_test(a_link_does_not_leave_the_root),
		cmocka_unit_test(a_fifo_does_not_block),
		cmocka_unit_test(the_debug_file_of_another_cpu),
		cmocka_unit_test(a_debug_link_with_a_path_is_refused),
		cmocka_unit_test(files_of_the_process),
		cmocka_unit_test(the_root_of_a_process),
		cmocka_unit_test(compressed_sections),
		cmocka_unit_test(a_bomb_does_not_go_off),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
