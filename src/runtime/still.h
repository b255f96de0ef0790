/* The preparations for running a program with a fixed seed or a fixed time. They are the same
 * for all runtimes, such as Python and Node. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "runtime/runtime.h"

enum { STILL_SESSION_BYTES = 20 };

/* The time at which the clock starts if only a seed was given: 2000-01-01T00:00:00Z. */
#define STILL_START_NS INT64_C(946684800000000000)

/*
 * If the request has a seed or a time, make the run repeatable; otherwise do nothing. Bind the
 * library that replaces random numbers and clocks (drivers/still), and add the environment
 * variables that load and configure it. Variables that are added later cannot replace these. With a
 * seed, also ask for fixed addresses.
 * Errors: ERR_BOX: the library is not installed; ERR_LIMIT, ERR_NO_MEMORY.
 */
int still_add(const struct runtime_request *req, struct runtime_start *out, struct err *err);

/* Write the session's name as programs in the box see it. Real names are random. With a seed,
 * programs see a name of the same form that is made from the seed. */
void still_session(const struct runtime_request *req, char out[STILL_SESSION_BYTES]);
