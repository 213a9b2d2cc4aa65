
"use strict";
const box = document.getElementById("filter");
const count = document.getElementById("count");
const touched = document.getElementById("touched");
const items = Array.from(document.querySelectorAll(".item"));
const dots = Array.from(document.querySelectorAll(".map circle"));
const texts = new Map([...items, ...dots].map((one) => [one, one.textContent.toLowerCase()]));

// Only with a script can anything be filtered.
box.closest("p").hidden = items.length === 0;
box.addEventListener("input", () => {
  const wanted = box.value.trim().toLowerCase();
  for (const one of items) one.hidden = !texts.get(one).includes(wanted);
  for (const one of dots) one.classList.toggle("away", !texts.get(one).includes(wanted));
  const left = items.filter((one) => !one.hidden).length;
  count.textContent = wanted ? `${left} of ${items.length}` : "";
});

// A finger cannot hover.
for (const one of dots) {
  one.addEventListener("click", () => {
    touched.textContent = one.textContent;
    touched.hidden = false;
  });
}
