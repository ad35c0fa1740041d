/* SPDX-License-Identifier: MIT */
/*
 * python_main.c: Python in a libpython, as the executable of Python without --with-static-libpython is.
 * Builds without Python's headers, for every libpython from 3.8 on.
 */
int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
