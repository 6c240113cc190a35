; The first pattern that defines a name at a place tells its kind.

(function_declaration name: (identifier) @name) @definition.function

(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @owner
        (generic_type type: (type_identifier) @owner)
        (pointer_type (type_identifier) @owner)
        (pointer_type (generic_type type: (type_identifier) @owner))
      ]))
  name: (field_identifier) @name) @definition.method

(type_spec name: (type_identifier) @name type: (struct_type)) @definition.class
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(type_spec type: (interface_type (method_elem name: (field_identifier) @name) @definition.method))

(const_spec (identifier) @name) @definition.constant
(var_spec name: (identifier) @name) @definition.constant

(type_declaration (_) @declared) @declaration
(const_declaration (const_spec) @declared) @declaration
(var_declaration (var_spec) @declared) @declaration
(var_declaration (var_spec_list (var_spec) @declared)) @declaration

; Functions have names of their own

[(function_declaration) (method_declaration) (func_literal)] @local.scope

(type_parameter_declaration name: (identifier) @local.definition)
(method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (generic_type
          type_arguments: (type_arguments (type_elem (type_identifier) @local.definition)))
        (pointer_type
          (generic_type
            type_arguments: (type_arguments (type_elem (type_identifier) @local.definition))))
      ])))
(parameter_declaration name: (identifier) @local.definition)
(variadic_parameter_declaration name: (identifier) @local.definition)
(short_var_declaration left: (expression_list (identifier) @local.definition))
(range_clause left: (expression_list (identifier) @local.definition))
(receive_statement left: (expression_list (identifier) @local.definition))
(type_switch_statement alias: (expression_list (identifier) @local.definition))
(var_spec name: (identifier) @local.definition)
(const_spec (identifier) @local.definition)
(keyed_element key: (literal_element (identifier) @ignore))

; References

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (selector_expression field: (field_identifier) @name)) @reference.method
(type_identifier) @name @reference.type

; What a package exports by its capital letter, functions where they are handed on

(selector_expression
  field: (field_identifier) @name (#match? @name "^\\p{Lu}")) @reference.member
((identifier) @name (#match? @name "^\\p{Lu}")) @reference.value
(argument_list (identifier) @name) @reference.value
(keyed_element value: (literal_element (identifier) @name)) @reference.value
