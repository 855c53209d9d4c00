import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { shellWithoutMainCluster } from './without-main-cluster.mjs';

it('gives a person one command that installs without a cluster, cleans up and keeps the outcome', () => {
  const conf = '/etc/postgresql-common/createcluster.d/palyra-setup.conf';
  const command = shellWithoutMainCluster('apt-get install -y postgresql');
  expect(command).toBe(
    `mkdir -p /etc/postgresql-common/createcluster.d && echo "create_main_cluster = false" >${conf} && apt-get install -y postgresql; e=$?; rm -f ${conf}; exit $e`,
  );
  // It is shown inside single quotes.
  expect(command).not.toContain("'");
  execFileSync('sh', ['-n', '-c', command]);
});
