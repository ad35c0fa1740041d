/* SPDX-License-Identifier: MIT */
/* listing.c: tables for a person. */
#include "listing.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

struct listing listing_make(FILE *stream)
{
	struct listing listing = { .stream = stream };
	struct winsize size;
	int fd = fileno(stream);
	if (fd < 0 || !isatty(fd))
		return listing;
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	listing.colour = !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
	if (!ioctl(fd, TIOCGWINSZ, &size))
		listing.width = size.ws_col;
	return listing;
}

static void add_styled(struct listing *listing, const char *style, const char *text)
{
	bool styled = listing->colour && style;
	fprintf(listing->stream, "%s%s%s", styled ? style : "", text, styled ? "\033[0m" : "");
	listing->used += (unsigned)strlen(text);
}

void listing_add(struct listing *listing, const char *text)
{
	add_styled(listing, NULL, text);
}

void listing_share(struct listing *listing, double share)
{
	char text[32];
	snprintf(text, sizeof(text), "%6.2f %%  ", share * 100);
	const char *style = share >= 0.1 ? "\033[1m" : share < 0.01 ? "\033[2m" : NULL;
	add_styled(listing, style, text);
}

void listing_change(struct listing *listing, double change)
{
	char text[32];
	double percent = change * 100;
	bool none = fabs(percent) < 0.005;
	snprintf(text, sizeof(text), none ? "   0.00 %%  " : "%+7.2f %%  ", percent);
	add_styled(listing, none ? NULL : percent > 0 ? "\033[31m" : "\033[32m", text);
}

void listing_weight(struct listing *listing, uint64_t weight, bool ns)
{
	char text[32];
	if (ns)
		snprintf(text, sizeof(text), "%9.2f s  ", (double)weight / (double)NS_PER_S);
	else
		snprintf(text, sizeof(text), "%11" PRIu64 "  ", weight);
	add_styled(listing, NULL, text);
}

void listing_weight_change(struct listing *listing, uint64_t before, uint64_t after, bool ns)
{
	char text[40];
	bool more = after > before;
	uint64_t by = more ? after - before : before - after;
	if (ns)
		snprintf(text, sizeof(text), "%+9.2f s  ",
			 (more ? 1 : -1) * ((double)by / (double)NS_PER_S));
	else
		snprintf(text, sizeof(text), "%10s%" PRIu64 "  ", by ? more ? "+" : "-" : " ", by);
	add_styled(listing, !by ? NULL : more ? "\033[31m" : "\033[32m", text);
}

/* Bytes of @text that take @columns at most, one for each character. */
static size_t bytes_of(const char *text, unsigned columns)
{
	size_t size = 0;
	for (; text[size]; size++)
		if (((unsigned char)text[size] & 0xc0) != 0x80 && !columns--)
			break;
	return size;
}

void listing_rest(struct listing *listing, const char *text)
{
	size_t size = strlen(text);
	if (listing->width) {
		unsigned left = listing->width > listing->used ? listing->width - listing->used : 0;
		if (bytes_of(text, left) < size) {
			size = bytes_of(text, left > 3 ? left - 3 : 0);
			fprintf(listing->stream, "%.*s...\n", (int)size, text);
			listing->used = 0;
			return;
		}
	}
	fprintf(listing->stream, "%s\n", text);
	listing->used = 0;
}

int listing_end(struct listing *listing)
{
	errno = 0;
	if (!fflush(listing->stream) && !ferror(listing->stream))
		return 0;
	if (errno == EPIPE)
		return 0;
	fprintf(stderr, "pysample: cannot write: %s\n", strerror(errno ? errno : EIO));
	return 1;
}
