/* Write a line of kind, name, version and hash for each package that a package-lock.json has locked.
 * SPDX-License-Identifier: Apache-2.0 */
'use strict';

const lock = JSON.parse(require('fs').readFileSync(process.argv[2], 'utf8'));
const seen = new Set();
for (const [place, about] of Object.entries(lock.packages)) {
	const name = about.name || place.replace(/^.*node_modules\//, '');
	/* the packages of other systems are in the list, but not installed */
	if (!place || about.link || !about.integrity || !require('fs').existsSync(place))
		continue;
	const line = ['npm', name, about.version, about.integrity.replace('-', ':')].join('\t');
	if (!seen.has(line))
		console.log(line);
	seen.add(line);
}
