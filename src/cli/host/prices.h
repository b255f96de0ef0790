/* Prices of models, as the user has configured them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/opt.h"

#include <jansson.h>

#define PRICES_OPT(s, heading)                                                                     \
	{                                                                                          \
		.name = "prices", OPT_INTO_TEXT(s, prices), .arg = "FILE", .flags = OPT_NO_CONFIG, \
		.group = (heading), .complete = OPT_COMPLETE_FILE,                                 \
		.help = "prices of models (default: \"prices\" in the configuration)"              \
	}

/*
 * Load the prices from the file @path. If @path is NULL, load them from the member "prices" of the
 * configuration file. If this member does not exist, *@out is NULL. service_open() checks the
 * content.
 * Owns: the caller decrefs.
 * Errors: ERR_NOT_FOUND, ERR_ACCESS; ERR_USAGE: not JSON.
 */
int prices_load(const char *path, json_t **out, struct err *err);

/* Parse an amount in USD, such as "0.50". Errors: ERR_USAGE. */
int prices_read_usd(const char *text, double *usd, struct err *err);
