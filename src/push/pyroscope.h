/* SPDX-License-Identifier: MIT */
/* pyroscope.h: profile → a PushRequest of Pyroscope's push service: a pprof file a process, with labels. */
#pragma once

#include "aggregate/profile.h"
#include "base/error.h"
#include "base/pb.h"
#include "push/attributes.h"
#include "push/window.h"

/* As otlp_encode. */
struct error *pyroscope_encode(const struct profile *profile, const struct push_window *window,
			       const struct attributes *resources, struct pb *pb,
			       uint64_t *samples_ret);
