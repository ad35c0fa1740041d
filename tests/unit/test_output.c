/* SPDX-License-Identifier: MIT */
/* Where bytes end up, and what is left behind when they do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "write/output.h"

/* Every test starts in an empty directory of its own. */
static int setup(void **state)
{
	char *dir = strdup("/tmp/pysample-output-XXXXXX");
	assert_non_null(dir);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	umask(022);
	*state = dir;
	return 0;
}

static int teardown(void **state)
{
	_cleanup_free_ char *dir = *state;
	_cleanup_free_ char *command = NULL;
	assert_int_equal(chdir("/"), 0);
	assert_true(asprintf(&command, "rm -rf '%s'", dir) > 0);
	return system(command);
}

static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void expect_file(const char *path, const char *expected)
{
	char text[64];
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	size_t size = fread(text, 1, sizeof(text) - 1, f);
	text[size] = '\0';
	fclose(f);
	assert_string_equal(text, expected);
}

static void expect_entries(int expected)
{
	_cleanup_closedir_ DIR *dir = opendir(".");
	assert_non_null(dir);
	int count = -2; /* . and .. */
	while (readdir(dir))
		count++;
	assert_int_equal(count, expected);
}

static mode_t mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode;
}

static struct output *open_output(const char *path)
{
	struct output *output = NULL;
	struct error *err = output_open(path, &output);
	if (err)
		fail_msg("%s", err->message);
	return output;
}

static void write_output(const char *path, const char *text)
{
	struct output *output = open_output(path);
	fputs(text, output_stream(output));
	struct error *err = output_commit(output);
	if (err)
		fail_msg("%s", err->message);
}

static void expect_refused(const char *path, const char *message)
{
	struct output *output = NULL;
	struct error *err = output_open(path, &output);
	assert_non_null(err);
	assert_string_equal(err->message, message);
	assert_null(output);
	error_destroy(err);
}

static void expect_commit_fails(struct output *output, const char *message)
{
	struct error *err = output_commit(output);
	assert_non_null(err);
	assert_string_equal(err->message, message);
	error_destroy(err);
}

static void a_new_file_appears_whole_at_the_end(void **state)
{
	struct output *output = open_output("out.txt");
	fputs("hello\n", output_stream(output));
	fflush(output_stream(output));
	assert_int_equal(access("out.txt", F_OK), -1);
	assert_null(output_commit(output));
	expect_file("out.txt", "hello\n");
	assert_int_equal(mode_of("out.txt"), S_IFREG | 0644);
	expect_entries(1);
}

static void an_abort_leaves_the_old_file(void **state)
{
	put_file("out.txt", "old");
	struct output *output = open_output("out.txt");
	fputs("new", output_stream(output));
	expect_entries(2);
	output_abort(output);
	expect_file("out.txt", "old");
	expect_entries(1);
	output_abort(NULL);
}

static void a_replaced_file_keeps_its_mode(void **state)
{
	put_file("out.txt", "old");
	assert_int_equal(chmod("out.txt", 0600), 0);
	write_output("out.txt", "new");
	expect_file("out.txt", "new");
	assert_int_equal(mode_of("out.txt"), S_IFREG | 0600);
}

static void the_mode_of_a_new_file_follows_the_umask(void **state)
{
	umask(077);
	write_output("out.txt", "new");
	assert_int_equal(mode_of("out.txt"), S_IFREG | 0600);
}

static void a_link_is_written_through(void **state)
{
	assert_int_equal(mkdir("there", 0755), 0);
	put_file("there/real.txt", "old");
	assert_int_equal(symlink("real.txt", "there/second"), 0);
	assert_int_equal(symlink("there/second", "first"), 0);
	write_output("first", "new");
	assert_true(S_ISLNK(mode_of("first")));
	assert_true(S_ISLNK(mode_of("there/second")));
	expect_file("there/real.txt", "new");
}

static void a_link_to_nothing_makes_the_file(void **state)
{
	assert_int_equal(mkdir("there", 0755), 0);
	assert_int_equal(symlink("there/new.txt", "link"), 0);
	write_output("link", "new");
	assert_true(S_ISLNK(mode_of("link")));
	assert_true(S_ISREG(mode_of("there/new.txt")));
	expect_file("there/new.txt", "new");
}

static void links_in_a_circle_are_refused(void **state)
{
	assert_int_equal(symlink("b", "a"), 0);
	assert_int_equal(symlink("a", "b"), 0);
	expect_refused("a", "cannot write a: Too many levels of symbolic links");
}

static void places_that_cannot_be_written_are_refused(void **state)
{
	put_file("file", "");
	assert_int_equal(mkdir("dir", 0755), 0);
	expect_refused("dir", "cannot write dir: Is a directory");
	expect_refused("none/out", "cannot write none/out: No such file or directory");
	expect_refused("new/", "cannot write new/: No such file or directory");
	expect_refused("file/out", "cannot write file/out: Not a directory");
	expect_refused("", "cannot write : No such file or directory");
	expect_refused("/proc/nothing-here", "cannot write /proc/nothing-here: "
					     "No such file or directory");
	expect_entries(2);
}

static off_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) ? -1 : st.st_size;
}

/* Ends a child of as_nobody. */
static void child_check(bool ok)
{
	if (!ok)
		_exit(1);
}

static void child_expect_refused(const char *path, const char *message)
{
	struct output *output = NULL;
	struct error *err = output_open(path, &output);
	child_check(err && !output && !strcmp(err->message, message));
	error_destroy(err);
}

static void child_write(const char *path, const char *text)
{
	struct output *output;
	child_check(!output_open(path, &output));
	fputs(text, output_stream(output));
	child_check(!output_commit(output));
}

/* Runs @body in a child, without privileges if we have any; true if none of its checks failed. */
static bool as_nobody(void (*body)(void))
{
	fflush(stdout);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		child_check(geteuid() || (!setgid(65534) && !setuid(65534)));
		body();
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void without_permission(void)
{
	child_expect_refused("new", "cannot write new: Permission denied");
	child_expect_refused("closed", "cannot write closed: Permission denied");
	child_expect_refused("own/closed", "cannot write own/closed: Permission denied");

	/* Writable, though nothing can be put beside it. */
	struct output *output;
	child_check(!output_open("open", &output));
	fputs("thrown away", output_stream(output));
	output_abort(output);
	child_check(size_of("open") == 12);
	child_write("open", "new");
	child_write("empty", "");
}

static void permissions_are_those_of_file_and_directory(void **state)
{
	if (geteuid())
		skip();
	put_file("closed", "old");
	put_file("open", "old and long");
	put_file("empty", "old");
	assert_int_equal(chmod("open", 0666), 0);
	assert_int_equal(chmod("empty", 0666), 0);
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(mkdir("own", 0755), 0);
	assert_int_equal(chown("own", 65534, 65534), 0);
	put_file("own/closed", "old");
	assert_int_equal(chmod("own/closed", 0444), 0);
	assert_true(as_nobody(without_permission));
	expect_file("closed", "old");
	expect_file("open", "new");
	expect_file("empty", "");
	expect_file("own/closed", "old");
	expect_entries(4);
}

/* A device of our own, "device": a broken output must not be able to replace one of the system's.
 */
static void make_device(unsigned minor_number)
{
	if (mknod("device", S_IFCHR | 0600, makedev(1, minor_number)))
		skip();
	int fd = open("device", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		skip();
	close(fd);
}

static void a_device_is_written_in_place(void **state)
{
	make_device(3); /* null */
	write_output("device", "gone");
	assert_int_equal(mode_of("device"), S_IFCHR | 0600);
	expect_entries(1);
}

static void a_full_device_is_reported_at_the_end(void **state)
{
	make_device(7); /* full */
	struct output *output = open_output("device");
	fputs("text", output_stream(output));
	expect_commit_fails(output, "cannot write device: No space left on device");
}

static void an_early_failure_is_remembered(void **state)
{
	make_device(7);
	struct output *output = open_output("device");
	for (int i = 0; i < 100000; i++)
		fputs("text", output_stream(output));
	assert_true(ferror(output_stream(output)));
	clearerr(output_stream(output));
	expect_commit_fails(output, "cannot write device: No space left on device");
}

static void a_file_that_hits_the_size_limit_is_removed(void **state)
{
	put_file("out.txt", "old");
	struct rlimit old, limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = (struct rlimit){ 1000, old.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	struct output *output = open_output("out.txt");
	for (int i = 0; i < 1000; i++)
		fputs("text", output_stream(output));
	struct error *err = output_commit(output);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_non_null(err);
	assert_string_equal(err->message, "cannot write out.txt: File too large");
	error_destroy(err);
	expect_file("out.txt", "old");
	expect_entries(1);
}

static void a_fifo_is_written_in_place(void **state)
{
	assert_int_equal(mkfifo("fifo", 0600), 0);
	int reader = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	write_output("fifo", "through");
	char text[16] = "";
	assert_int_equal(read(reader, text, sizeof(text)), 7);
	assert_string_equal(text, "through");
	assert_true(S_ISFIFO(mode_of("fifo")));
	close(reader);
	expect_entries(1);
}

static void a_reader_that_went_away_is_reported(void **state)
{
	assert_int_equal(mkfifo("fifo", 0600), 0);
	int reader = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct output *output = open_output("fifo");
	close(reader);
	signal(SIGPIPE, SIG_IGN);
	fputs("text", output_stream(output));
	expect_commit_fails(output, "cannot write fifo: Broken pipe");
}

static void write_to_stdout(void)
{
	static const char *const names[] = { NULL,        "-",   "/dev/stdout", "/proc/self/fd/1",
					     "/dev/fd/1", "link" };
	int fd = open("log", O_WRONLY | O_APPEND | O_CLOEXEC);
	child_check(dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		child_write(names[i], "x|");
}

/* Without privileges, so that a broken output cannot replace /dev/stdout. */
static void standard_output_is_appended_to_and_stays_open(void **state)
{
	put_file("log", "|");
	assert_int_equal(chmod("log", 0666), 0);
	assert_int_equal(chmod(".", 0755), 0);
	assert_int_equal(symlink("/dev/stdout", "link"), 0);
	assert_true(as_nobody(write_to_stdout));
	expect_file("log", "|x|x|x|x|x|x|");
	expect_entries(2);
}

static void a_descriptor_that_cannot_be_written_is_refused(void **state)
{
	put_file("log", "");
	int fd = open("log", O_RDONLY | O_CLOEXEC);
	char path[32], message[96];
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	snprintf(message, sizeof(message), "cannot write to %s: Bad file descriptor", path);
	expect_refused(path, message);
	close(fd);
	expect_refused(path, message);
}

static void a_slow_pipe_gets_all(void **state)
{
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fds[1]);
		fcntl(fds[0], F_SETFL, 0);
		char buffer[4096];
		size_t total = 0;
		for (ssize_t n; (n = read(fds[0], buffer, sizeof(buffer))) > 0; usleep(100))
			total += (size_t)n;
		_exit(total == 1000000 ? 0 : 1);
	}
	close(fds[0]);
	char path[32];
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
	struct output *output = open_output(path);
	for (int i = 0; i < 100000; i++)
		fputs("0123456789", output_stream(output));
	assert_null(output_commit(output));
	close(fds[1]);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_file_appears_whole_at_the_end),
		TEST(an_abort_leaves_the_old_file),
		TEST(a_replaced_file_keeps_its_mode),
		TEST(the_mode_of_a_new_file_follows_the_umask),
		TEST(a_link_is_written_through),
		TEST(a_link_to_nothing_makes_the_file),
		TEST(links_in_a_circle_are_refused),
		TEST(places_that_cannot_be_written_are_refused),
		TEST(permissions_are_those_of_file_and_directory),
		TEST(a_device_is_written_in_place),
		TEST(a_full_device_is_reported_at_the_end),
		TEST(an_early_failure_is_remembered),
		TEST(a_file_that_hits_the_size_limit_is_removed),
		TEST(a_fifo_is_written_in_place),
		TEST(a_reader_that_went_away_is_reported),
		TEST(standard_output_is_appended_to_and_stays_open),
		TEST(a_descriptor_that_cannot_be_written_is_refused),
		TEST(a_slow_pipe_gets_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
