/* SPDX-License-Identifier: MIT */
/* doctor_cpu.h: how a target protects its control flow, which only some CPUs can. */
#pragma once

#include <sys/types.h>

#include "doctor_report.h"
#include "image/image.h"
#include "target/stop.h"

/* Whether thread @tid, which is held for a moment, signs return addresses, with which keys and in which bits. */
void doctor_signing(struct report *report, pid_t tid, struct stopper *stopper);
/* What the file's GNU property note says it was built for. Shown, and nothing else: signed code may have no note. */
void doctor_features(struct report *report, const struct image *image);
