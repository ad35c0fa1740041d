/* SPDX-License-Identifier: MIT */
/* pprof.h: the format "pprof" of docs/formats.md. */
#pragma once

#include "base/pb.h"
#include "write/writer.h"

extern const struct writer pprof_writer;

/* Appends @profile as a message perftools.profiles.Profile to @pb, not compressed. */
struct error *pprof_encode(const struct profile *profile, const struct writer_options *options,
			   struct pb *pb);
