/* Asks the person at the terminal whether a program of `retort run` may connect to a host.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/once/once.h"

struct asker;

/* Owns: the caller frees the asker after once_run(). */
struct asker *asker_new(void);
void asker_free(struct asker *a);
/* Return what once_run() needs; valid until asker_free(). */
const struct once_asker *asker_once(const struct asker *a);
