// SPDX-License-Identifier: MIT
// Throws through some frames with destructors, catches, and does it again, in two threads, for ever.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

struct Guard {
	std::string text;
	~Guard() { text += "."; }
};

__attribute__((noinline)) static int descend(int level)
{
	Guard guard{std::to_string(level)};
	if (!level)
		throw std::runtime_error(guard.text);
	int below = descend(level - 1);
	return below + static_cast<int>(guard.text.size());
}

__attribute__((noinline)) static int handler_of_another_type(int level)
{
	try {
		return descend(level);
	} catch (const std::logic_error &) {
		return 1;
	}
}

static void work()
{
	volatile int sum = 0;
	for (;;) {
		for (int level = 0; level < 30; level++) {
			try {
				sum = sum + handler_of_another_type(level);
			} catch (const std::exception &error) {
				sum = sum + error.what()[0];
			}
		}
	}
}

int main()
{
	std::thread other(work);
	std::puts("ready");
	std::fflush(stdout);
	work();
}
