/* Files that an agent receives as variables: `--context`. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"

#include <jansson.h>

/* The directory of the context files in the box. */
#define AGENT_CONTEXT_DIR "/context/"

/*
 * Read FILE or NAME=FILE of each item; the name of FILE alone is "context". The text before the
 * first "=" is a name if it is a valid name: ./a=b is a file.
 *
 * @create: the parameters of session.create, to which a volume for each file is added.
 * Owns:    *@out, the "context" of agent.run, is the caller's; NULL without items.
 * Errors:  ERR_USAGE: an invalid name, a name used twice, or not a regular file; ERR_ACCESS,
 *          ERR_NOT_FOUND, ERR_LIMIT, ERR_NO_MEMORY.
 */
int agent_context_add(const struct opt_list *items, json_t *create, json_t **out, struct err *err);
