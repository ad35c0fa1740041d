/* SPDX-License-Identifier: MIT */
/*
 * decoy.c: a library with a .PyRuntime section and names that a runtime has, and nothing of a runtime in them.
 */
__attribute__((section(".PyRuntime"), visibility("default"))) unsigned long decoy_runtime[512] = {
	0x5959595959595959,
};
__attribute__((visibility("default"))) unsigned int decoy_version = 0x030c00f0;
