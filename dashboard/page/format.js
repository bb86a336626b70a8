// Numbers and times as text, with their units.

const plain = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

// count writes a whole number, and rate one that may be small.
const count = n => n == null ? '–' : Math.abs(n) < 1e5 ? plain.format(n) : compact.format(n);
const rate = n => n == null ? '–' : Math.abs(n) < 100 ? fine.format(n) : count(n);

const percent = share => plain.format(share * 100) + ' %';

// duration writes milliseconds, in at most two units.
function duration(ms) {
  if (ms == null) return '–';
  if (ms < 1) return ms === 0 ? '0 ms' : ms < .095 ? '<0.1 ms' : ms.toFixed(1) + ' ms';
  if (ms < 999.5) return (ms < 9.95 ? fine.format(ms) : plain.format(ms)) + ' ms';
  if (ms < 9950) return fine.format(ms / 1000) + ' s';
  const s = Math.round(ms / 1000);
  const two = (n, size, big, small) => Math.floor(n / size) + ' ' + big + (n % size ? ' ' + n % size + ' ' + small : '');
  if (s < 60) return s + ' s';
  if (s < 3600) return two(s, 60, 'min', 's');
  if (s < 86400) return two(Math.floor(s / 60), 60, 'h', 'min');
  return two(Math.floor(s / 3600), 24, 'd', 'h');
}

const clock = ms => new Date(ms).toLocaleTimeString('en-GB');

const plural = (n, one, many) => count(n) + ' ' + (n === 1 ? one : many || one + 's');
