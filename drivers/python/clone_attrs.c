/* SPDX-License-Identifier: Apache-2.0 */
#include "clone_attrs.h"

#include <sys/prctl.h>

void clone_attrs_save(struct clone_attrs *attrs)
{
	if (prctl(PR_GET_PDEATHSIG, &attrs->death_signal, 0, 0, 0) < 0)
		attrs->death_signal = 0;
	if (prctl(PR_GET_CHILD_SUBREAPER, &attrs->is_subreaper, 0, 0, 0) < 0)
		attrs->is_subreaper = 0;
}

void clone_attrs_restore(const struct clone_attrs *attrs)
{
	if (attrs->death_signal)
		(void)prctl(PR_SET_PDEATHSIG, attrs->death_signal, 0, 0, 0);
	if (attrs->is_subreaper)
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}
