/* SPDX-License-Identifier: Apache-2.0 */
#include "base/install.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int install_find(struct install *out, struct err *err)
{
	/* ORDER: the layout of an installation before that of the build tree. */
	static const struct {
		const char *libexec, *drivers;
	} layouts[] = {
		{"../libexec/retort", "../share/retort"},
		{"src", "drivers"},
	};
	char dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
	if (n < 0)
		return err_fail_sys(
			err, ERR_BOX, errno, "retort needs /proc mounted", "read /proc/self/exe");
	dir[n] = '\0';
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++) {
		int a = snprintf(
			out->warden, PATH_MAX, "%s/%s/retort-warden", dir, layouts[i].libexec);
		int c = snprintf(
			out->planner, PATH_MAX, "%s/%s/retort-planner", dir, layouts[i].libexec);
		int d = snprintf(
			out->gateway, PATH_MAX, "%s/%s/retort-gateway", dir, layouts[i].libexec);
		int e = snprintf(
			out->unpack, PATH_MAX, "%s/%s/retort-unpack", dir, layouts[i].libexec);
		int b = snprintf(out->drivers_dir, PATH_MAX, "%s/%s", dir, layouts[i].drivers);
		if (a > 0 && a < PATH_MAX && b > 0 && b < PATH_MAX && c > 0 && c < PATH_MAX &&
			d > 0 && d < PATH_MAX && e > 0 && e < PATH_MAX &&
			access(out->warden, X_OK) == 0)
			return 0;
	}
	return err_fail(err, ERR_BOX, "install retort again: its parts must stay together",
		"retort-warden is not where it belongs, seen from %.150s", dir);
}
