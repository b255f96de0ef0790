/* Output of a hostile program, as it goes to a terminal: whatever the pieces in which it comes, the
 * same modes are left, and what leaves them leaves all of them. SPDX-License-Identifier:
 * Apache-2.0 */
#include "fuzz.h"

#include "cli/process/modes.h"

#include <string.h>

static void read_all(struct modes *m, const char *data, size_t bytes, size_t step)
{
	*m = (struct modes){0};
	for (size_t at = 0; at < bytes; at += step)
		modes_read(m, data + at, MIN(step, bytes - at));
}

static void check_undo(const struct modes *m, bool is_cut)
{
	char undo[MODES_UNDO_BYTES], rest[MODES_UNDO_BYTES];
	struct modes after = *m;
	size_t n = modes_undo(m, is_cut, undo);
	MUST(n < sizeof undo);
	modes_read(&after, undo, n);
	MUST(modes_undo(&after, false, rest) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct modes whole, parts;
	char one[MODES_UNDO_BYTES], other[MODES_UNDO_BYTES];
	if (bytes == 0)
		return 0;
	read_all(&whole, (const char *)data, bytes, bytes);
	read_all(&parts, (const char *)data, bytes, 1 + data[0] % 16);
	size_t n = modes_undo(&whole, false, one);
	MUST(n == modes_undo(&parts, false, other) && memcmp(one, other, n) == 0);
	MUST((whole.on & ~whole.ever) == 0);
	check_undo(&whole, false);
	check_undo(&whole, true);
	return 0;
}
