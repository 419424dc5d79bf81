// SPDX-License-Identifier: Apache-2.0
// How numbers, times and elements are shown.

const percent = share => share.toLocaleString(uiLanguage, {style: 'percent', maximumFractionDigits: 0});
const minutesOf = stretches => inWords(stretches.reduce((sum, {begin, end}) => sum + end - begin, 0) / 60, 1);

// "1:02:03.4", from left to right in every language.
function clock(seconds) {
  const tenths = Math.round(seconds * 10);
  const [hours, minutes, rest] = [Math.floor(tenths / 36000), Math.floor(tenths / 600) % 60, tenths % 600 / 10];
  const padded = rest.toFixed(1).padStart(4, '0');
  return hours ? `${hours}:${String(minutes).padStart(2, '0')}:${padded}` : `${minutes}:${padded}`;
}

const placeOf = ({recording, begin, end}) => `${recording} ${clock(begin)}–${clock(end)}`;

function fillTexts() {
  document.documentElement.lang = uiLanguage;
  document.documentElement.dir = say.direction;
  for (const element of document.querySelectorAll('[data-say]')) element.textContent = say[element.dataset.say];
  const link = $('other-language');
  const address = new URLSearchParams(location.search);
  address.set('lang', say.other);
  Object.assign(link, {textContent: say.other_name, lang: say.other, href: `?${address}`});
}
