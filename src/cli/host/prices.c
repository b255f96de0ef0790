/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/prices.h"

#include "base/buf.h"
#include "cli/host/config.h"
#include "cli/host/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRICES_BYTES = 1 << 20 };

static int read_file(const char *path, json_t **out, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(PRICES_BYTES);
	json_error_t error;
	int r = program_read(path, &text, err);
	if (r < 0)
		return r;
	*out = json_loadb(buf_str(&text), text.bytes, JSON_REJECT_DUPLICATES, &error);
	return *out ? 0 : err_set(err, ERR_USAGE, "%.100s:%d: %s", path, error.line, error.text);
}

int prices_load(const char *path, json_t **out, struct err *err)
{
	json_t *table = NULL;
	int r = path ? read_file(path, &table, err) : config_member("prices", &table, err);
	if (r == 0)
		*out = table;
	return r < 0 && path ? err_wrap(err, "--prices") : r;
}

int prices_read_usd(const char *text, double *usd, struct err *err)
{
	char *end;
	bool is_plain = text[0] && strspn(text, "0123456789.") == strlen(text);
	double value = strtod(text, &end);
	if (!is_plain || *end || !isfinite(value) || value <= 0 || value > 1e9)
		return err_fail(err, ERR_USAGE, "write USD, as in --max-cost 0.50",
			"--max-cost: '%.40s' is not a sum of money", text);
	*usd = value;
	return 0;
}
