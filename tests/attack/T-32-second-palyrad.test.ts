// T-32: a second palyrad starts on the same home, takes the calls of the first one for interrupted, and attests that nobody
// knows their end while they run.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { homeLayout, parseConfig } from '@palyra/config';
import { composeDaemon, type DaemonOptions } from '@palyra/daemon';
import { createFakeCredentials, createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';

test('it is refused while the first one runs, and starts when that one is gone', async () => {
  await using home = await createTemporaryHome();
  const options: DaemonOptions = {
    home: homeLayout(home.path),
    config: parseConfig('', 'palyra.toml').config,
    operator: { path: '/usr/bin:/bin', home: homedir(), palyraHome: join(home.path, 'kept'), environment: {} },
    verify: createFakeCredentials().verify,
    log: { level: 'silent' },
    pool: 'off',
  };
  const first = await composeDaemon(options);
  await expect(composeDaemon(options)).rejects.toMatchObject({ code: 'storage.locked' });
  await first.close();
  const second = await composeDaemon(options);
  await second.close();
});
