// SPDX-License-Identifier: Apache-2.0
// What every page has: its language, that of ?lang= or of the browser, and how elements and numbers are made in it. The texts
// that stand before it are in kTexts.

const wantedLanguage = new URLSearchParams(location.search).get('lang') ?? navigator.language.slice(0, 2);
const uiLanguage = wantedLanguage === 'fa' ? 'fa' : 'en';
const say = kTexts[uiLanguage];

const $ = id => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function inWords(number, digits = 0) {
  return number.toLocaleString(uiLanguage, {minimumFractionDigits: digits, maximumFractionDigits: digits});
}
