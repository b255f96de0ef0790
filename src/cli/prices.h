/* The user's prices of models. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"

#include <jansson.h>

#define PRICES_OPT(s, heading)                                                                     \
	{                                                                                          \
		.name = "prices", OPT_INTO_TEXT(s, prices), .arg = "FILE", .flags = OPT_NO_CONFIG, \
		.group = (heading), .complete = OPT_COMPLETE_FILE,                                 \
		.help = "what models cost; else \"prices\" of the configuration"                   \
	}

/*
 * Read the file @path, or (NULL) "prices" of the configuration; without either *@out is unchanged.
 * service_open() checks the content. Owns:    the caller decrefs. Errors:  ERR_NOT_FOUND,
 * ERR_ACCESS; ERR_USAGE: not JSON.
 */
int prices_load(const char *path, json_t **out, struct err *err);

/* "0.50": USD. Errors: ERR_USAGE. */
int prices_read_usd(const char *text, double *usd, struct err *err);
