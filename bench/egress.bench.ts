import { keptAlive, type ProxyBench, pour, proxiedPath, startProxyBench, TUNNEL_BYTES } from './egress-proxy.ts';
import { type Contender, defineBenchmark } from './harness.ts';

/**
 * What the proxy costs. `keep-alive-*`: one request on a connection that stays, to the origin and through the proxy; the
 * difference of their p50 is what it adds. `tunnel-*`: one CONNECT and 32 MiB, `per_s` in mebibytes, through the proxy and
 * through the least that a Node program can do.
 */
const contenders: readonly Contender<ProxyBench>[] = [
  { name: 'keep-alive-direct', prepare: ({ originPort }) => keptAlive({ port: originPort, path: '/' }) },
  {
    name: 'keep-alive-proxy',
    prepare: ({ originPort, proxyPort }) => keptAlive({ port: proxyPort, path: proxiedPath(originPort) }),
  },
  { name: 'tunnel-pipe', prepare: ({ sourcePort, pipePort }) => tunnel(pipePort, sourcePort) },
  { name: 'tunnel-proxy', prepare: ({ sourcePort, proxyPort }) => tunnel(proxyPort, sourcePort) },
];

export default defineBenchmark<ProxyBench>({
  name: 'egress',
  description: 'What the egress proxy adds to a request, and how much goes through it',
  baseline: 'tunnel-pipe',
  ratioOf: 'per_s',
  defaults: { rounds: 5, seconds: 3 },
  setup: startProxyBench,
  teardown: (place) => place.close(),
  contenders,
});

function tunnel(port: number, target: number): { readonly things: number; operation(): Promise<void> } {
  return { things: TUNNEL_BYTES / 2 ** 20, operation: () => pour(port, target) };
}
