// SPDX-License-Identifier: Apache-2.0
// What the page says, in its two languages, and how it gets there.

const kTexts = {
  en: {
    direction: 'ltr', other: 'fa', other_name: 'فارسی',
    views: 'Views', speak_tab: 'Speak', speak: 'Speak', load: 'Load', text: 'Text', text_hint: 'Type what is to be said.',
    characters: n => `${n} characters`, voice: 'Voice', voices: 'Voices', language: 'Language', auto: 'Automatic', model: 'Model',
    no_voice: 'No voice yet: add one', add_voice: 'Add a voice…', rename_voice: 'Rename…', delete_voice: 'Delete…',
    more: 'More', temperature: 'Temperature', top_k: 'Top k', top_p: 'Top p', repetition_penalty: 'Repetition penalty',
    speed: 'Speed', seed: 'Seed', format: 'Download as', of_model: 'model’s own', new_seed: 'random',
    stop: 'Stop', keys: 'Ctrl+Enter speaks, Esc stops.', result: 'Speech', nothing_yet: 'Nothing has been said yet.',
    waveform: 'Waveform', play: 'Play again', download: 'Download', history: 'Spoken in this visit',
    waiting: 'Waiting for the first sound…', first: s => `First sound after ${s} s; more is on its way.`,
    done: (speech, took, factor, first, seed, language) =>
      `${speech} s of speech in ${took} s (real-time factor ${factor}), first sound after ${first} s. Language ${language}, seed ${seed}.`,
    stopped: 'Stopped.', failed: 'Failed; the message above says why.', line: (voice, seconds, seed) => [voice, ` · ${seconds} s · seed ${seed}`],
    busy: s => `The server is busy; the page asks again in ${s} s.`,
    gone: 'The server does not answer. Look whether myxtts serve still runs, then try again.',
    broken: 'The answer broke off. The server may have ended or failed; its log says more.',
    key_title: 'API key', key: 'Key', key_text: 'This server wants an API key. The page keeps it until the tab is closed.',
    key_wrong: 'The server does not know this key. Type another.', key_missing: 'Without an API key the server answers nothing. Reload the page to type one.',
    send: 'Use this key', cancel: 'Cancel', name: 'Name', save: 'Save the voice', new_voice: 'A new voice',
    clips_hint: 'One or more clips of one person, together 6 to 30 seconds of clear speech.',
    files: 'Clips from files', record: 'Record', record_end: 'End the recording', level: 'Level of the microphone',
    seconds: s => `${s} s`, saving: 'The server listens to the voice…', encoding: 'The server makes the file…', no_clip: 'Choose a file or record something first.',
    no_microphone: 'Browsers lend the microphone only to pages at https or localhost; choose a file instead.',
    microphone_refused: 'The browser does not lend the microphone. Allow it beside the address of the page, or choose a file.',
    silent: 'Nothing could be heard in the recording. Look which microphone the browser uses, and record again.',
    rename_title: v => `Rename ${v}`, rename: 'Rename', delete_title: v => `Delete ${v}?`,
    delete_text: 'The files of this voice on the server are deleted. This cannot be undone.', delete: 'Delete',
    speaking: 'Requests speaking', queued: 'Requests waiting', places: 'Places in use', of: (a, b) => `${a} of ${b}`,
    pace: 'Seconds of speech per second', median: 'Median time to first sound', second: s => `${s} s`, over: s => `over ${s} s`,
  },
  fa: {
    direction: 'rtl', other: 'en', other_name: 'English',
    views: 'نماها', speak_tab: 'گفتار', speak: 'بگو', load: 'بار سرور', text: 'متن', text_hint: 'آنچه باید گفته شود را بنویسید.',
    characters: n => `${n} نویسه`, voice: 'صدا', voices: 'صداها', language: 'زبان', auto: 'خودکار', model: 'مدل',
    no_voice: 'هنوز صدایی نیست؛ یکی بیفزایید', add_voice: 'افزودن صدا…', rename_voice: 'تغییر نام…', delete_voice: 'حذف…',
    more: 'بیشتر', temperature: 'دما', top_k: 'Top k', top_p: 'Top p', repetition_penalty: 'جریمهٔ تکرار',
    speed: 'سرعت', seed: 'بذر تصادفی', format: 'قالب دریافت', of_model: 'مقدار مدل', new_seed: 'هر بار تازه',
    stop: 'توقف', keys: 'Ctrl+Enter می‌گوید و Esc متوقف می‌کند.', result: 'صدای ساخته‌شده', nothing_yet: 'هنوز چیزی گفته نشده است.',
    waveform: 'شکل موج', play: 'پخش دوباره', download: 'دریافت', history: 'گفته‌های این بازدید',
    waiting: 'در انتظار نخستین صدا…', first: s => `نخستین صدا پس از ${s} ثانیه رسید؛ بقیه در راه است.`,
    done: (speech, took, factor, first, seed, language) =>
      `${speech} ثانیه گفتار در ${took} ثانیه (ضریب زمان واقعی ${factor})، نخستین صدا پس از ${first} ثانیه. زبان ${language}، بذر ${seed}.`,
    stopped: 'متوقف شد.', failed: 'نشد؛ پیام بالا می‌گوید چرا.', line: (voice, seconds, seed) => [voice, ` · ${seconds} ثانیه · بذر ${seed}`],
    busy: s => `سرور مشغول است؛ صفحه ${s} ثانیهٔ دیگر دوباره می‌پرسد.`,
    gone: 'سرور پاسخ نمی‌دهد. ببینید myxtts serve هنوز اجرا می‌شود، سپس دوباره تلاش کنید.',
    broken: 'پاسخ نیمه‌کاره ماند. شاید سرور پایان یافته یا خطا داده باشد؛ گزارش آن بیشتر می‌گوید.',
    key_title: 'کلید API', key: 'کلید', key_text: 'این سرور کلید API می‌خواهد. صفحه آن را تا بسته شدن زبانه نگه می‌دارد.',
    key_wrong: 'سرور این کلید را نمی‌شناسد. کلید دیگری بنویسید.', key_missing: 'سرور بدون کلید API چیزی نمی‌گوید. برای نوشتن کلید، صفحه را دوباره باز کنید.',
    send: 'به کار بردن کلید', cancel: 'انصراف', name: 'نام', save: 'ذخیرهٔ صدا', new_voice: 'صدای تازه',
    clips_hint: 'یک یا چند ضبط از یک نفر، روی هم ۶ تا ۳۰ ثانیه گفتار روشن.',
    files: 'ضبط‌ها از فایل', record: 'ضبط', record_end: 'پایان ضبط', level: 'بلندی صدای میکروفون',
    seconds: s => `${s} ثانیه`, saving: 'سرور به صدا گوش می‌دهد…', encoding: 'سرور فایل را می‌سازد…', no_clip: 'نخست فایلی برگزینید یا چیزی ضبط کنید.',
    no_microphone: 'مرورگر میکروفون را تنها به صفحه‌های https یا localhost می‌دهد؛ فایلی برگزینید.',
    microphone_refused: 'مرورگر میکروفون را نمی‌دهد. در کنار نشانی صفحه اجازه دهید، یا فایلی برگزینید.',
    silent: 'در ضبط چیزی شنیده نشد. ببینید مرورگر از کدام میکروفون استفاده می‌کند و دوباره ضبط کنید.',
    rename_title: v => `تغییر نام ${v}`, rename: 'تغییر نام', delete_title: v => `${v} حذف شود؟`,
    delete_text: 'فایل‌های این صدا در سرور پاک می‌شود و بازگشتنی نیست.', delete: 'حذف',
    speaking: 'درخواست‌های در حال گفتن', queued: 'درخواست‌های منتظر', places: 'جاهای در کار', of: (a, b) => `${a} از ${b}`,
    pace: 'ثانیه‌های گفتار در هر ثانیه', median: 'میانهٔ زمان تا نخستین صدا', second: s => `${s} ثانیه`, over: s => `بیش از ${s} ثانیه`,
  },
};

function languageName(code) {
  return new Intl.DisplayNames([uiLanguage], {type: 'language'}).of(code);
}

function fillInTexts() {
  document.documentElement.lang = uiLanguage;
  document.documentElement.dir = say.direction;
  for (const element of document.querySelectorAll('[data-say]')) element.textContent = say[element.dataset.say];
  for (const element of document.querySelectorAll('[data-label]')) element.ariaLabel = say[element.dataset.label];
  for (const element of document.querySelectorAll('[data-placeholder]')) element.placeholder = say[element.dataset.placeholder];
  Object.assign($('other-language'), {href: `?lang=${say.other}`, lang: say.other, textContent: say.other_name});
}

// The same error is not read out again.
function showError(error, where = $('error')) {
  if (error.name !== 'AbortError' && where.textContent !== error.message) where.textContent = error.message;
}

// Runs what a button does; an error is shown, and that of the last button goes.
function guarded(work, where = $('error')) {
  return async () => {
    where.textContent = '';
    await work().catch(error => showError(error, where));
  };
}
