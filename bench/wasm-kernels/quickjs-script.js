// What QuickJS runs: objects, strings, closures, arithmetic, a sieve and sorting.
(() => {
  const sieve = Array.from({ length: 4000 }, () => true);
  for (let i = 2; i * i < sieve.length; i++)
    if (sieve[i]) for (let j = i * i; j < sieve.length; j += i) sieve[j] = false;
  const words = [];
  for (let i = 0; i < 800; i++) words.push({ key: `k${(i * 7919) % 1009}`, value: i, isPrime: sieve[i] });
  words.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : a.value - b.value));
  const counts = new Map();
  for (const { key, isPrime } of words) counts.set(key.length, (counts.get(key.length) ?? 0) + (isPrime ? 1 : 0));
  const text = JSON.stringify(words.slice(0, 100).map(({ key, value }) => ({ key, value })));
  const back = JSON.parse(text).reduce((sum, { value }) => (sum * 31 + value) % 65521, 7);
  const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
  return `${back} ${fib(16)} ${[...counts.entries()].join(' ')}`;
})();
